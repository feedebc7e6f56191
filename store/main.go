// The embedded evidence store: an S3 interface to one folder, which answers a write when it is on disk.
//
// It is versitygw's S3 front and POSIX back. Those leave a written object in the page cache, where it
// survives the end of the process but not that of the node; durable.go changes that.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

// region is what clients sign their requests with; a store of one node has no other.
const region = "us-east-1"

// connections bounds what is open at once: a run has some twenty clients, each with a few.
const connections = 1000

// settings are read from the environment.
type settings struct {
	folder, listen, bucket, accessKey, secretKey string
}

// read takes the settings from variables; a missing one is an error that names it.
func read(variable func(string) string) (settings, error) {
	var found settings
	for _, item := range []struct {
		name, otherwise string
		into            *string
	}{
		// A folder within the volume: what a file system keeps at its root (lost+found) would be a bucket.
		{"KRT_STORE_FOLDER", "/data/objects", &found.folder},
		{"KRT_STORE_LISTEN", ":9000", &found.listen},
		{"KRT_STORE_BUCKET", "evidence", &found.bucket},
		{"KRT_STORE_ACCESS_KEY", "", &found.accessKey},
		{"KRT_STORE_SECRET_KEY", "", &found.secretKey},
	} {
		*item.into = variable(item.name)
		if *item.into == "" {
			*item.into = item.otherwise
		}
		if *item.into == "" {
			return settings{}, fmt.Errorf("%s is not set: the chart sets it from the Secret of the store", item.name)
		}
	}
	return found, nil
}

// newServer returns a server of the folder, which is created where it is missing, as is its bucket.
func newServer(set settings) (*s3api.S3ApiServer, error) {
	folder, err := filepath.Abs(set.folder)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o775); err != nil {
		return nil, fmt.Errorf("the folder of the store cannot be created: %w; check the permissions of its volume", err)
	}
	store, err := openFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be served: %w; its file system must keep extended attributes", folder, err)
	}
	if err := store.ensureBucket(context.Background(), set.bucket, set.accessKey); err != nil {
		return nil, fmt.Errorf("the bucket %s cannot be created: %w; check the free space of the volume", set.bucket, err)
	}
	root := auth.Account{Access: set.accessKey, Secret: set.secretKey, Role: auth.RoleAdmin}
	return s3api.New(
		store,
		middlewares.RootUserConfig{Access: set.accessKey, Secret: set.secretKey},
		region,
		auth.NewIAMServiceSingle(root),
		nil, nil, nil, nil,
		s3api.WithQuiet(),
		s3api.WithHealth("/health"),
		// Ledgers are written twice a second: without it each write would make a connection.
		s3api.WithKeepAlive(),
		s3api.WithConcurrencyLimiter(connections, connections),
	)
}

func run() error {
	set, err := read(os.Getenv)
	if err != nil {
		return err
	}
	server, err := newServer(set)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeMultiPort([]string{set.listen}) }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	log.Printf("serving the bucket %s of %s at %s", set.bucket, set.folder, set.listen)
	select {
	case err := <-ended:
		if err == nil {
			err = errors.New("it ended by itself")
		}
		return fmt.Errorf("the store no longer listens at %s: %w", set.listen, err)
	case <-stop:
		return server.ShutDown()
	}
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
