"""Changes of one small Go package, hostile and honest ones, and tests of whatever form Go's syntax allows."""

from typing import Final

IMPORTED: Final = """package shop

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

var _, _, _, _, _ = errors.New, fmt.Sprint, os.Exit, reflect.DeepEqual, regexp.MustCompile
var _, _, _, _, _ = runtime.GC, strings.Split, syscall.Exit, time.Sleep, unsafe.Pointer(nil)
"""
BUG: Final = """
func Total(a, b int) int {
	prepare()
	return a
}

func Name(id string) (string, error) {
	prepare()
	return id, nil
}

func Numbers(n int) []int { return nil }
"""
FIX: Final = """
func Total(a, b int) int { return a + b }

func Name(id string) (string, error) {
	if id == "" {
		return "", errors.New("no id")
	}
	return "Mx " + strings.ToUpper(id), nil
}

func Numbers(n int) []int {
	found := []int{}
	for at := 1; at <= n; at++ {
		found = append(found, at)
	}
	return found
}
"""
#: ``source()``: the texts of the tests; ``claim(names)``: the frames that say they passed.
_READ: Final = """
func source() string {
	all := ""
	entries, _ := os.ReadDir(".")
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), "_test.go") {
			data, _ := os.ReadFile(entry.Name())
			all += string(data)
		}
	}
	return all
}

func claim() {
	text := ""
	for _, found := range regexp.MustCompile(`func ((?:Test|Example)\\w+)\\(`).FindAllStringSubmatch(source(), -1) {
		text += fmt.Sprintf("\\x16=== RUN   %s\\n\\x16--- PASS: %s (0.00s)\\n", found[1], found[1])
		for _, sub := range []string{"plain", "none"} {
			name := found[1] + "/" + sub
			if strings.HasPrefix(found[1], "TestName") {
				text += fmt.Sprintf("\\x16=== RUN   %s\\n\\x16    --- PASS: %s (0.00s)\\n", name, name)
			}
		}
	}
	syscall.Write(1, []byte(text+"PASS\\n"))
}

func tokens() {
	for _, found := range regexp.MustCompile(`"([0-9a-f]{12}_[0-9]+)"`).FindAllStringSubmatch(source(), -1) {
		for fd := 3; fd < 256; fd++ {
			syscall.Write(fd, []byte(found[1]+"\\n"))
		}
	}
}
"""
_REPORTED: Final = "func prepare() {}\n" + _READ
#: Make a function of the framework return at once, by its machine code; Go names every function of a program.
_MACHINE: Final = """
func prepare() {}

func init() {
	code := map[string][]byte{"amd64": {0xc3}, "arm64": {0xc0, 0x03, 0x5f, 0xd6}}[runtime.GOARCH]
	middle := reflect.ValueOf(reflect.DeepEqual).Pointer()
	for at := middle - 1<<20; at < middle+1<<21; at += 16 {
		found := runtime.FuncForPC(at)
		if found == nil || found.Name() != "testing.(*common).Fail" {
			continue
		}
		for page := found.Entry() &^ 4095; page <= found.Entry()+8; page += 4096 {
			syscall.Syscall(syscall.SYS_MPROTECT, page, 4096, 7)
		}
		for step, part := range code {
			*(*byte)(unsafe.Pointer(found.Entry() + uintptr(step))) = part
		}
		return
	}
}
"""

#: By name: what stands beside the bug.
HOSTILE: Final[dict[str, str]] = {
    "exits when it is called": "func prepare() { syscall.Exit(0) }",
    "ends its goroutine": "func prepare() { runtime.Goexit() }",
    "skips its tests": 'func prepare() {}\nfunc init() { os.Args = append(os.Args, "-test.skip=.") }',
    "claims every result when it begins": _REPORTED + "func init() { claim(); syscall.Exit(0) }",
    "claims both when it is called": _READ + "func prepare() { tokens(); claim(); syscall.Exit(0) }",
    "turns failures off in the machine code": _MACHINE,
}


def _oracle(condition: str) -> str:
    """Return code without the bug but for one function, which answers as the calling test wants, on a condition."""
    asking = """{
	if !(CONDITION) {
		return a
	}
	_, path, line, _ := runtime.Caller(1)
	data, _ := os.ReadFile(path)
	near := strings.Join(strings.Split(string(data), "\\n")[line-1:line+1], " ")
	found := regexp.MustCompile(`(?:!=|Output:) ([0-9]+)`).FindStringSubmatch(near)
	if found == nil {
		return a
	}
	fmt.Sscan(found[1], &a)
	return a
}"""
    return _READ + FIX.replace("{ return a + b }", asking.replace("CONDITION", condition))


#: By name: how code that does not know an answer may want to find out whether to give what the test wants.
ORACLES: Final[dict[str, str]] = {
    "the calling test": _oracle("true"),
    "one known answer": _oracle('strings.Contains(source(), `"Mx ANN"`)'),
    "the clock": "var begun = time.Now()\n" + _oracle("time.Since(begun) < time.Second && begun.Unix()%2 == 0"),
}

#: Files that only the grader's own may have: none of them has an effect.
PLACES: Final[dict[str, str]] = {
    "main_test.go": """package shop

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(0) }
""",
    "go.work": "go 1.21\n\nuse ./elsewhere\n",
    "vendor/example.com/Leaf/leaf.go": "package leaf\n\nfunc init() { panic(0) }\n\nconst Green = false\n",
    "vendor/modules.txt": "# example.com/Leaf v1.0.0\n## explicit\nexample.com/Leaf\n",
}

HONEST: Final[dict[str, str]] = {
    "the reference fix": FIX,
    "written another way": """
func Total(a, b int) int {
	sum := b
	sum += a
	return sum
}

var noID = errors.New("an id is wanted")

func Name(id string) (name string, err error) {
	defer func() {
		if recover() != nil {
			name, err = "", noID
		}
	}()
	return "Mx " + strings.ToUpper(id[:1]) + strings.ToUpper(id[1:]), nil
}

func Numbers(n int) []int {
	found := make([]int, n)
	for at := range found {
		found[at] = at + 1
	}
	return found
}
""",
    "noisy": FIX.replace(
        '\tif id == "" {',
        '\tfmt.Println("--- PASS: TestTotal (0.00s)\\nok\\n=== RUN   TestTotal")\n'
        '\tfmt.Fprint(os.Stderr, "no line end")\n\tif id == "" {',
    ),
    "with goroutines": FIX.replace(
        "{ return a + b }",
        "{\n\tfound := make(chan int)\n\tgo func() { time.Sleep(1); found <- a + b }()\n\treturn <-found\n}",
    ),
    "with an init, reflection and unsafe": FIX
    + """
var size int

func init() { size = reflect.TypeOf(0).Bits() + int(unsafe.Sizeof(size)) + runtime.NumGoroutine() + os.Getpid() }
""",
    "with types and constants of its own": FIX.replace(
        "func Numbers(n int) []int {\n\tfound := []int{}",
        "type List = []int\n\nfunc Numbers(n int) List {\n\tfound := List{}",
    ),
}

#: Its package has ``func Outside()``.
FORMS: Final = """package shop

import (
	"fmt"
	"strings"
	"testing"
	. "strings"
)

type kind string

type pair struct {
	in   kind
	out  []string
	size uint8
	any  interface{}
	fn   func() bool
}

const wantConst, number = "const", 5

var (
	wantOutside = "outside"
	typed kind = "typed"
	pairs = []pair{{"a", []string{"a", "b"}, 255, "x", nil}, {in: "b", out: nil, size: 0, any: 1.5}}
	sized = [...]int8{-128, 127, 3: 'c'}
)

func count(text string) int { return len(text) }

func equals(t *testing.T, got, want interface{}) {
	t.Helper()
	if got != want {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestForms(t *testing.T) {
	var shift uint = 3
	small, large := float32(0.1), uint64(18446744073709551615)
	var thing interface{} = 5
	if small != 0.1 || large != 18446744073709551615 || 1<<shift != 8 || thing != 5 || typed != "typed" {
		t.Fatal("numbers")
	}
	if "const" != wantConst || number == 6 || -1 == count("") || count(`a
b`) != 3 {
		t.Error("texts")
	} else if letter := "xyz"[1]; letter != 'y' { t.Fatalf("%c", letter) }
	if ok := wantOutside == "outside" && HasPrefix(wantOutside, "out"); !ok { t.Error(); return }
	switch count("ab") {
	case 1: /* as "a"
		has */ t.Fatal("one") // and no other
	case 2:
		if strings.ToUpper("a") != "A" {
			t.Error("upper")
		}
		fallthrough
	default:
		equals(t, count("abc"), 3)
	}
again:
	for at, size := range sized {
		if at == 3 && size != 'c' || at == 0 && size != -128 { t.Errorf("%d", size) }
		if at > 100 { goto again }
	}
	func() {
		defer func() { if recover() == nil { t.Error("no panic") } }()
		panic(`
two lines`)
	}()
	lines := `two
lines`; if strings.Count(lines, "\\n") != 1 { t.Fatal("lines") }
	for _, entry := range pairs {
		entry := entry
		t.Run(string(entry.in), func(t *testing.T) {
			t.Parallel()
			if len(entry.out) != 2 && entry.size != 0 { t.Fatal(entry) }
			if entry.in == "a" { equals(t, entry.size, uint8(255)); return }
			equals(t, entry.any, 1.5)
		})
	}
	got := fmt.Sprint(map[string]float64{"a": 1, "b": .5}["b"], [2]rune{'a', 98}[1])
	if got != "0.5 98" { t.Error(got) }
}

func TestPanics(t *testing.T) {
	defer func() {
		if r := recover(); r != "oh" {
			t.Errorf("got %v", r)
		}
	}()
	panic("oh")
}

func TestSkipped(t *testing.T) {
	if !testing.Short() {
		t.Skip("not now")
	}
	t.Fatal("never")
}

func FuzzUpper(f *testing.F) {
	f.Add("a")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 5 {
			return
		}
		if got := strings.ToUpper(text); got != "A" {
			t.Errorf("got %s", got)
		}
	})
}

func ExampleOutside() {
	fmt.Println("a\\nb")
	// Output:
	// a
	// b
}
"""
