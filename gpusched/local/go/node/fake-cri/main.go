// Command fake-cri is a container runtime without containers: Kubernetes' own in-memory fake behind a socket.
// Every sandbox and container that it was asked to make goes to the journal, one JSON object a line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/fake"
)

// The kubelet takes an image without a size for one that is not there.
const imageBytes = 1 << 20

type entry struct {
	Pod       string            `json:"pod"`
	Namespace string            `json:"namespace"`
	Container string            `json:"container,omitempty"`
	Handler   string            `json:"handler,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

type recorder struct {
	runtime *fake.RemoteRuntime
	mutex   sync.Mutex
	journal *json.Encoder
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fake-cri:", err)
		os.Exit(1)
	}
}

func run() error {
	socket := flag.String("socket", "", "path of the socket to listen on")
	path := flag.String("journal", "", "path of the journal")
	flag.Parse()
	file, err := os.OpenFile(*path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		return err
	}
	runtime := fake.NewFakeRemoteRuntime()
	runtime.ImageService.SetFakeImageSize(imageBytes)
	runtime.RuntimeService.FakeStatus = &cri.RuntimeStatus{Conditions: []*cri.RuntimeCondition{
		{Type: cri.RuntimeReady, Status: true},
		{Type: cri.NetworkReady, Status: true},
	}}
	recorder := &recorder{runtime: runtime, journal: json.NewEncoder(file)}
	server := grpc.NewServer(grpc.UnaryInterceptor(recorder.intercept))
	cri.RegisterRuntimeServiceServer(server, runtime)
	cri.RegisterImageServiceServer(server, runtime)
	return server.Serve(listener)
}

func (r *recorder) intercept(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if line, ok := describe(request); ok {
		r.mutex.Lock()
		err := r.journal.Encode(line)
		r.mutex.Unlock()
		if err != nil {
			return nil, err
		}
	}
	answer, err := next(ctx, request)
	if asked, ok := request.(*cri.CreateContainerRequest); ok && err == nil {
		r.nameLog(answer.(*cri.CreateContainerResponse).GetContainerId(), asked)
	}
	return answer, err
}

// nameLog fills in what the fake leaves empty: of a container that is gone the kubelet removes all files whose names
// begin with the path of its log, which without one are those of its working directory.
func (r *recorder) nameLog(id string, asked *cri.CreateContainerRequest) {
	service := r.runtime.RuntimeService
	service.Lock()
	defer service.Unlock()
	if container, ok := service.Containers[id]; ok {
		container.LogPath = filepath.Join(asked.GetSandboxConfig().GetLogDirectory(), asked.GetConfig().GetLogPath())
	}
}

func describe(request any) (entry, bool) {
	switch asked := request.(type) {
	case *cri.RunPodSandboxRequest:
		pod := asked.GetConfig().GetMetadata()
		return entry{Pod: pod.GetName(), Namespace: pod.GetNamespace(), Handler: asked.GetRuntimeHandler()}, true
	case *cri.CreateContainerRequest:
		pod := asked.GetSandboxConfig().GetMetadata()
		env := map[string]string{}
		for _, pair := range asked.GetConfig().GetEnvs() {
			env[pair.GetKey()] = string(pair.GetValue())
		}
		name := asked.GetConfig().GetMetadata().GetName()
		return entry{Pod: pod.GetName(), Namespace: pod.GetNamespace(), Container: name, Env: env}, true
	}
	return entry{}, false
}
