// What marked Go tests call: compiled into their own package, under names that only one run has. The driver replaces
// the package's name, everything that begins with cg_, and the number of the pipe. Of what the language declares it
// uses little, since a package may give such names another meaning.
package tests

import (
	cg_sync "sync"
	cg_syscall "syscall"
)

const cg_pipe = 0

var cg_seen cg_sync.Map

func init() { cg_syscall.CloseOnExec(cg_pipe) }

// cg_mark writes a token to the pipe when it is seen for the first time.
func cg_mark(token string) {
	if _, known := cg_seen.LoadOrStore(token, true); known {
		return
	}
	// So short a line is written as a whole.
	for err := error(cg_syscall.EINTR); err == cg_syscall.EINTR; {
		_, err = cg_syscall.Write(cg_pipe, []byte(token+"\n"))
	}
}
