package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3response"
)

// copyThreshold is the largest object that may be copied, S3's own limit. Without it every copy is
// refused, and Spark renames by copying.
const copyThreshold = 5 << 30

// durable is the POSIX back end whose writes are on disk when they are acknowledged.
type durable struct {
	*posix.Posix
	// sync makes a file or folder durable.
	sync    func(*os.File) error
	folders *folders
}

// openFolder returns the back end of a folder, which becomes the working directory of the process.
func openFolder(folder string) (*durable, error) {
	back, err := posix.New(folder, meta.XattrMeta{}, posix.PosixOpts{CopyObjectThreshold: copyThreshold})
	if err != nil {
		return nil, err
	}
	return &durable{back, (*os.File).Sync, &folders{}}, nil
}

// ensureBucket creates the bucket where there is none.
func (d *durable) ensureBucket(ctx context.Context, bucket, owner string) error {
	if _, err := os.Stat(bucket); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	acl, err := json.Marshal(auth.ACL{Owner: owner})
	if err != nil {
		return err
	}
	err = d.CreateBucket(ctx, &s3.CreateBucketInput{
		Bucket:                    &bucket,
		CreateBucketConfiguration: &types.CreateBucketConfiguration{},
		ObjectOwnership:           types.ObjectOwnershipBucketOwnerEnforced,
	}, acl)
	if err != nil {
		return err
	}
	return d.syncPaths(bucket, ".")
}

// PutObject answers when the object and its name are on disk.
func (d *durable) PutObject(ctx context.Context, put s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	// Before it gets its name: a crash must not leave an object whose content is not there.
	out, err := d.PutObjectWithPostFunc(ctx, put, d.sync)
	if err == nil {
		err = d.syncObject(*put.Bucket, *put.Key)
	}
	return out, err
}

// CompleteMultipartUpload answers when the object and its name are on disk.
func (d *durable) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	result, version, err := d.Posix.CompleteMultipartUpload(ctx, in)
	if err == nil {
		err = d.syncObject(*in.Bucket, *in.Key)
	}
	return result, version, err
}

// CopyObject answers when the copy and its name are on disk.
func (d *durable) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	out, err := d.Posix.CopyObject(ctx, in)
	if err == nil {
		err = d.syncObject(*in.Bucket, *in.Key)
	}
	return out, err
}

// syncObject makes an object durable: its content, its attributes (which are set after its content),
// its name, and the names of the folders above that are not durable yet.
func (d *durable) syncObject(bucket, key string) error {
	path := filepath.Join(bucket, key)
	paths := []string{path}
	var opened []*os.File
	for folder := filepath.Dir(path); folder != "."; folder = filepath.Dir(folder) {
		paths = append(paths, folder)
		if d.folders.durable(folder) {
			break
		}
		file, err := os.Open(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			closeFiles(opened)
			return err
		}
		opened = append(opened, file)
	}
	if err := d.syncPaths(paths...); err != nil {
		closeFiles(opened)
		return err
	}
	d.folders.keep(opened)
	return nil
}

// syncPaths makes files and folders durable, all at once: a file system writes what several wait for
// in one go.
func (d *durable) syncPaths(paths ...string) error {
	errs := make([]error, len(paths))
	var all sync.WaitGroup
	for number, path := range paths {
		all.Go(func() { errs[number] = d.syncPath(path) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (d *durable) syncPath(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		// Deleted meanwhile by another request: there is nothing to keep.
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return d.sync(file)
}
