// Command gpu-plugin offers GPUs that do not exist to a kubelet, as NVIDIA's device plugin does with time-slicing.
// Ids are GPU-0::0, GPU-0::1, ... (GPU-0 with one replica); a container gets one replica, of a GPU that the strategy
// chooses; the GPUs named in a file, one a line, are unhealthy as long as they stand there.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	poll     = 50 * time.Millisecond
	patience = 5 * time.Second
	endpoint = "gpusched-fake-gpu.sock"
)

var options = &api.DevicePluginOptions{GetPreferredAllocationAvailable: true}

type plugin struct {
	api.UnimplementedDevicePluginServer
	resource, sick string
	gpus, replicas int
	packed         bool
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gpu-plugin:", err)
		os.Exit(1)
	}
}

func run() error {
	p := &plugin{}
	folder := flag.String("folder", api.DevicePluginPath, "the kubelet's folder of plugin sockets")
	flag.StringVar(&p.resource, "resource", "nvidia.com/gpu", "name of the resource")
	flag.StringVar(&p.sick, "unhealthy", "", "file with the names of unhealthy GPUs")
	flag.IntVar(&p.gpus, "gpus", 1, "number of GPUs")
	flag.IntVar(&p.replicas, "replicas", 1, "replicas of each")
	flag.BoolVar(&p.packed, "packed", false, "prefer the GPU with the most replicas in use to the one with the fewest")
	flag.Parse()
	for {
		// A kubelet that starts removes all sockets but its own: the plugin has to serve and to register anew.
		born, err := waitForKubelet(*folder)
		if err != nil {
			return err
		}
		if err := p.serve(*folder, born); err != nil {
			fmt.Fprintln(os.Stderr, "gpu-plugin:", err)
			time.Sleep(poll)
		}
	}
}

func waitForKubelet(folder string) (os.FileInfo, error) {
	for {
		info, err := os.Stat(filepath.Join(folder, "kubelet.sock"))
		if err == nil {
			return info, nil
		}
		if !os.IsNotExist(err) {
			return nil, err
		}
		time.Sleep(poll)
	}
}

// serve returns when the kubelet of that socket is gone.
func (p *plugin) serve(folder string, born os.FileInfo) error {
	path := filepath.Join(folder, endpoint)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	defer server.Stop()
	api.RegisterDevicePluginServer(server, p)
	go server.Serve(listener)
	if err := p.register(folder); err != nil {
		return err
	}
	for {
		now, err := os.Stat(filepath.Join(folder, "kubelet.sock"))
		if err != nil || !os.SameFile(now, born) || !now.ModTime().Equal(born.ModTime()) {
			return nil
		}
		time.Sleep(poll)
	}
}

func (p *plugin) register(folder string) error {
	target := "unix://" + filepath.Join(folder, "kubelet.sock")
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request := &api.RegisterRequest{Version: api.Version, Endpoint: endpoint, ResourceName: p.resource, Options: options}
	_, err = api.NewRegistrationClient(connection).Register(ctx, request)
	return err
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return options, nil
}

func (p *plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	for told := "-"; ; {
		text, err := os.ReadFile(p.sick)
		if err != nil && p.sick != "" && !os.IsNotExist(err) {
			return err
		}
		if string(text) != told {
			told = string(text)
			if err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices(strings.Fields(told))}); err != nil {
				return err
			}
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(poll):
		}
	}
}

func (p *plugin) devices(sick []string) []*api.Device {
	var all []*api.Device
	for gpu := range p.gpus {
		name, health := fmt.Sprintf("GPU-%d", gpu), api.Healthy
		for _, other := range sick {
			if other == name {
				health = api.Unhealthy
			}
		}
		for replica := range p.replicas {
			id := name
			if p.replicas > 1 {
				id = fmt.Sprintf("%s::%d", name, replica)
			}
			all = append(all, &api.Device{ID: id, Health: health})
		}
	}
	return all
}

func (p *plugin) GetPreferredAllocation(_ context.Context, request *api.PreferredAllocationRequest) (*api.PreferredAllocationResponse, error) {
	answer := &api.PreferredAllocationResponse{}
	for _, asked := range request.ContainerRequests {
		ids := p.prefer(asked.AvailableDeviceIDs, asked.MustIncludeDeviceIDs, int(asked.AllocationSize))
		answer.ContainerResponses = append(answer.ContainerResponses, &api.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return answer, nil
}

// prefer takes the replicas one by one, each from the GPU that has the most free ones, or the fewest where packed.
func (p *plugin) prefer(available, wanted []string, size int) []string {
	free := map[string][]string{}
	taken := append([]string{}, wanted...)
	for _, id := range available {
		if !contains(wanted, id) {
			free[card(id)] = append(free[card(id)], id)
		}
	}
	for len(taken) < size && len(free) > 0 {
		cards := make([]string, 0, len(free))
		for name, ids := range free {
			sort.Strings(ids)
			cards = append(cards, name)
		}
		sort.Slice(cards, func(i, j int) bool {
			first, second := len(free[cards[i]]), len(free[cards[j]])
			if first == second {
				return cards[i] < cards[j]
			}
			return (first > second) != p.packed
		})
		chosen := cards[0]
		taken = append(taken, free[chosen][0])
		if free[chosen] = free[chosen][1:]; len(free[chosen]) == 0 {
			delete(free, chosen)
		}
	}
	return taken
}

func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer := &api.AllocateResponse{}
	for _, asked := range request.ContainerRequests {
		if count := len(asked.DevicesIds); p.replicas > 1 && count > 1 {
			return nil, fmt.Errorf("invalid request: maximum request size for shared resources is 1; found %d", count)
		}
		var cards []string
		for _, id := range asked.DevicesIds {
			cards = append(cards, card(id))
		}
		env := map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(cards, ",")}
		answer.ContainerResponses = append(answer.ContainerResponses, &api.ContainerAllocateResponse{Envs: env})
	}
	return answer, nil
}

func card(id string) string {
	name, _, _ := strings.Cut(id, "::")
	return name
}

func contains(ids []string, wanted string) bool {
	for _, id := range ids {
		if id == wanted {
			return true
		}
	}
	return false
}
