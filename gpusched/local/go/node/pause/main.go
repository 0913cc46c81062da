// Command pause prints its environment and waits for a signal: the only program of all images of a test node.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	// The first process of a container gets no signal that it has not asked for.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	// The last line says that all others are there.
	fmt.Println(strings.Join(append(os.Environ(), "PAUSED=yes"), "\n"))
	<-ended
}
