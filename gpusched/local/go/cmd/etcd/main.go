// Command etcd runs one embedded etcd member that keeps nothing: no fsync, data in a folder that is thrown away.
// Its flags are those of upstream etcd, so that either can stand in for the other.
package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

func run() error {
	cfg := embed.NewConfig()
	flag.StringVar(&cfg.Name, "name", cfg.Name, "name of the member")
	flag.StringVar(&cfg.Dir, "data-dir", "", "folder of the data")
	flag.StringVar(&cfg.LogLevel, "log-level", "warn", "debug, info, warn or error")
	flag.BoolVar(&cfg.UnsafeNoFsync, "unsafe-no-fsync", false, "do not wait for the disk")
	flag.StringVar(&cfg.InitialCluster, "initial-cluster", "", "members, as name=peer-URL")
	addresses := map[string]*[]url.URL{
		"listen-client-urls":          &cfg.ListenClientUrls,
		"advertise-client-urls":       &cfg.AdvertiseClientUrls,
		"listen-peer-urls":            &cfg.ListenPeerUrls,
		"initial-advertise-peer-urls": &cfg.AdvertisePeerUrls,
	}
	for name, target := range addresses {
		flag.Func(name, "one URL", func(text string) error {
			address, err := url.Parse(text)
			if err != nil {
				return err
			}
			*target = []url.URL{*address}
			return nil
		})
	}
	flag.Parse()

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	member, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer member.Close()
	select {
	case <-stop:
		return nil
	case err := <-member.Err():
		return err
	}
}
