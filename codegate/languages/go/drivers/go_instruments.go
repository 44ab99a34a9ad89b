// What instrumented Go tests call: compiled into their own package, under names that only one run has. The driver
// replaces the package's name, everything that begins with cg_, and the number of the pipe, and fills the table. Of what
// the language declares it uses little, since a package may give such names another meaning.
package tests

import (
	cg_reflect "reflect"
	cg_sync "sync"
	cg_syscall "syscall"
)

const cg_pipe = 0

var (
	cg_seen  cg_sync.Map
	cg_table = map[string]interface{}{
		// the table
	}
)

func init() { cg_syscall.CloseOnExec(cg_pipe) }

// cg_receipt writes a token to the pipe when it is seen for the first time.
func cg_receipt(token string) {
	if _, known := cg_seen.LoadOrStore(token, true); known {
		return
	}
	// So short a line is written as a whole.
	for err := error(cg_syscall.EINTR); err == cg_syscall.EINTR; {
		_, err = cg_syscall.Write(cg_pipe, []byte(token+"\n"))
	}
}

// cg_change returns what it is given or, where the table says so, something that nothing is equal to.
func cg_change(token string, given interface{}) interface{} {
	if cg_table[token] == true {
		return &cg_table
	}
	return given
}

// cg_guard returns a condition, inverted where the table says so.
func cg_guard(token string, given interface{}) bool {
	return cg_reflect.ValueOf(given).Bool() != (cg_table[token] == true)
}
