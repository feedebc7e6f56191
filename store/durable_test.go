package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

const bucket = "evidence"

var errDisk = errors.New("the disk refused")

// syncs records what was made durable, and refuses where a test says so.
type syncs struct {
	lock   sync.Mutex
	paths  []string
	refuse func(path string) bool
}

func (s *syncs) sync(file *os.File) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.paths = append(s.paths, file.Name())
	if s.refuse != nil && s.refuse(file.Name()) {
		return errDisk
	}
	return file.Sync()
}

func (s *syncs) take() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	taken := s.paths
	s.paths = nil
	return taken
}

// upwards prints paths, the longest first: what is synced at once is so in any order.
func upwards(paths []string) string {
	slices.SortFunc(paths, func(a, b string) int { return len(b) - len(a) })
	return fmt.Sprint(paths)
}

// serve starts a store on a folder of the test and returns a client of it and what it syncs.
func serve(t *testing.T) (*s3.Client, *syncs) {
	t.Helper()
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chdir(before) })
	store, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	seen := &syncs{}
	store.sync = seen.sync
	if err := store.ensureBucket(context.Background(), bucket, "key"); err != nil {
		t.Fatal(err)
	}
	server, err := s3api.New(store, middlewares.RootUserConfig{Access: "key", Secret: "secret"}, region,
		auth.NewIAMServiceSingle(auth.Account{Access: "key", Secret: "secret", Role: auth.RoleAdmin}),
		nil, nil, nil, nil, s3api.WithQuiet(), s3api.WithConcurrencyLimiter(connections, connections))
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	go func() { _ = server.ServeMultiPort([]string{address}) }()
	t.Cleanup(func() { _ = server.ShutDown() })
	client := s3.New(s3.Options{
		BaseEndpoint:     aws.String("http://" + address),
		Region:           region,
		UsePathStyle:     true,
		Credentials:      credentials.NewStaticCredentialsProvider("key", "secret", ""),
		RetryMaxAttempts: 1,
	})
	await(t, address)
	seen.take()
	return client, seen
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func await(t *testing.T, address string) {
	t.Helper()
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

func put(client *s3.Client, key, text string) error {
	_, err := client.PutObject(context.Background(), &s3.PutObjectInput{
		Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader(text),
	})
	return err
}

func get(t *testing.T, client *s3.Client, key string) string {
	t.Helper()
	found, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		return ""
	}
	defer found.Body.Close()
	text, err := io.ReadAll(found.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPutObject_Acknowledged_ContentNameAndFoldersAreSynced(t *testing.T) {
	client, seen := serve(t)
	if err := put(client, "ns/test/uid/produce/a-000000.000001.parquet", "rows"); err != nil {
		t.Fatal(err)
	}
	paths := seen.take()
	if len(paths) == 0 || filepath.Dir(paths[0]) == filepath.Join(bucket, "ns/test/uid/produce") {
		t.Fatalf("the content was not synced before it got its name: %v", paths)
	}
	want := "[evidence/ns/test/uid/produce/a-000000.000001.parquet evidence/ns/test/uid/produce" +
		" evidence/ns/test/uid evidence/ns/test evidence/ns evidence]"
	if got := upwards(paths[1:]); got != want {
		t.Fatalf("synced %s, want %s", got, want)
	}
	if got := get(t, client, "ns/test/uid/produce/a-000000.000001.parquet"); got != "rows" {
		t.Fatalf("read %q", got)
	}
}

func TestPutObject_FoldersAreDurable_OnlyTheNameIsSynced(t *testing.T) {
	client, seen := serve(t)
	for _, key := range []string{"ns/test/a", "ns/test/b", "ns/other/a"} {
		if err := put(client, key, "rows"); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"ns/test/a":  "[evidence/ns/test/a evidence/ns/test evidence/ns evidence]",
			"ns/test/b":  "[evidence/ns/test/b evidence/ns/test]",
			"ns/other/a": "[evidence/ns/other/a evidence/ns/other evidence/ns]",
		}[key]
		if got := upwards(seen.take()[1:]); got != want {
			t.Fatalf("%s synced %s, want %s", key, got, want)
		}
	}
}

func TestPutObject_FolderMadeAgain_IsSyncedAgain(t *testing.T) {
	client, seen := serve(t)
	if err := put(client, "ns/test/a", "rows"); err != nil {
		t.Fatal(err)
	}
	// Takes the empty folders with it.
	_, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String("ns/test/a")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bucket + "/ns"); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the folder is still there: %v", err)
	}
	seen.take()
	if err := put(client, "ns/test/b", "rows"); err != nil {
		t.Fatal(err)
	}
	if got, want := upwards(seen.take()[1:]), "[evidence/ns/test/b evidence/ns/test evidence/ns evidence]"; got != want {
		t.Fatalf("synced %s, want %s", got, want)
	}
}

func TestPutObject_FolderCouldNotBeSynced_IsTriedAgain(t *testing.T) {
	client, seen := serve(t)
	seen.refuse = func(path string) bool { return path == bucket }
	if err := put(client, "ns/a", "rows"); err == nil {
		t.Fatal("acknowledged")
	}
	seen.refuse = nil
	seen.take()
	if err := put(client, "ns/b", "rows"); err != nil {
		t.Fatal(err)
	}
	if got, want := upwards(seen.take()[1:]), "[evidence/ns/b evidence/ns evidence]"; got != want {
		t.Fatalf("synced %s, want %s", got, want)
	}
}

func TestFolders_TooManyKept_BeginAnew(t *testing.T) {
	known, root := &folders{}, t.TempDir()
	for number := range foldersKept + 1 {
		path := fmt.Sprintf("%s/%d", root, number)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		known.keep([]*os.File{file})
	}
	if len(known.kept) != 1 || !known.durable(fmt.Sprintf("%s/%d", root, foldersKept)) {
		t.Fatalf("%d folders are kept", len(known.kept))
	}
}

func TestPutObject_ContentCannotBeSynced_IsRefusedAndNotThere(t *testing.T) {
	client, seen := serve(t)
	seen.refuse = func(path string) bool { return !strings.HasPrefix(path, bucket+"/ns") }
	if err := put(client, "ns/a", "rows"); err == nil {
		t.Fatal("acknowledged")
	}
	if got := get(t, client, "ns/a"); got != "" {
		t.Fatalf("read %q of a write that was refused", got)
	}
}

func TestPutObject_FolderCannotBeSynced_IsNotAcknowledged(t *testing.T) {
	client, seen := serve(t)
	seen.refuse = func(path string) bool { return path == bucket+"/ns" }
	if err := put(client, "ns/a", "rows"); err == nil {
		t.Fatal("acknowledged")
	}
}

func TestCompleteMultipartUpload_Acknowledged_IsSynced(t *testing.T) {
	client, seen := serve(t)
	key, ctx := aws.String("ns/large"), t.Context()
	upload, err := client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: aws.String(bucket), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	part, err := client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: aws.String(bucket), Key: key, UploadId: upload.UploadId, PartNumber: aws.Int32(1),
		Body: bytes.NewReader(make([]byte, 6<<20)),
	})
	if err != nil {
		t.Fatal(err)
	}
	seen.take()
	_, err = client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: aws.String(bucket), Key: key, UploadId: upload.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{
			Parts: []types.CompletedPart{{ETag: part.ETag, PartNumber: aws.Int32(1)}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := upwards(seen.take()), "[evidence/ns/large evidence/ns evidence]"; got != want {
		t.Fatalf("synced %s, want %s", got, want)
	}
}

func TestCopyObject_Acknowledged_IsSyncedAndEqual(t *testing.T) {
	client, seen := serve(t)
	if err := put(client, "log/_temporary/part", "rows"); err != nil {
		t.Fatal(err)
	}
	seen.take()
	_, err := client.CopyObject(t.Context(), &s3.CopyObjectInput{
		Bucket: aws.String(bucket), Key: aws.String("log/part"), CopySource: aws.String(bucket + "/log/_temporary/part"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := upwards(seen.take()), "[evidence/log/part evidence/log]"; got != want {
		t.Fatalf("synced %s, want %s", got, want)
	}
	if got := get(t, client, "log/part"); got != "rows" {
		t.Fatalf("read %q", got)
	}
}

func TestEnsureBucket_StartedAgain_KeepsWhatIsThere(t *testing.T) {
	client, _ := serve(t)
	if err := put(client, "a", "rows"); err != nil {
		t.Fatal(err)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	store, err := openFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	// With another key, too: the one of the chart was made anew.
	if err := store.ensureBucket(t.Context(), bucket, "another"); err != nil {
		t.Fatal(err)
	}
	if got := get(t, client, "a"); got != "rows" {
		t.Fatalf("read %q", got)
	}
}

func TestRead_SecretMissing_NamesTheVariable(t *testing.T) {
	_, err := read(func(name string) string { return map[string]string{"KRT_STORE_ACCESS_KEY": "key"}[name] })
	if err == nil || !strings.Contains(err.Error(), "KRT_STORE_SECRET_KEY") {
		t.Fatalf("got %v", err)
	}
}
