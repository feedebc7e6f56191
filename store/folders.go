package main

import (
	"os"
	"sync"
)

// foldersKept bounds how many folders are kept open: a run has a dozen.
const foldersKept = 512

// folders are those whose name, and the names of all above, are on disk already, so that they need not
// be made durable with each object. Each is kept open: until it is closed, no other folder has its
// inode, and one that was deleted and made again is recognized.
type folders struct {
	lock sync.Mutex
	kept map[string]*os.File
}

// durable reports whether the folder that is at a path now is one of them.
func (f *folders) durable(path string) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	folder, there := f.kept[path]
	if !there {
		return false
	}
	before, err := folder.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(before, now)
}

// keep takes folders that were opened before they were made durable.
func (f *folders) keep(opened []*os.File) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.kept == nil || len(f.kept)+len(opened) > foldersKept {
		for _, folder := range f.kept {
			_ = folder.Close()
		}
		f.kept = map[string]*os.File{}
	}
	for _, folder := range opened {
		if before, there := f.kept[folder.Name()]; there {
			_ = before.Close()
		}
		f.kept[folder.Name()] = folder
	}
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
