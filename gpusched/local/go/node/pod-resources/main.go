// Command pod-resources prints which devices a kubelet gave to which containers, as the JSON of podresources v1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

const patience = 10 * time.Second

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pod-resources:", err)
		os.Exit(1)
	}
}

func run() error {
	socket := flag.String("socket", "", "path of the kubelet's podresources socket")
	flag.Parse()
	connection, err := grpc.NewClient("unix://"+*socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer, err := podresources.NewPodResourcesListerClient(connection).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return err
	}
	text, err := protojson.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(text))
	return err
}
