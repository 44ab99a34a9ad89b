// Finds where Go test files can be instrumented, by their syntax alone; nothing of them is compiled.
//
// Its text is sent into a fresh sandbox and built there: what it imports is in every test program, so it is compiled
// already. Standard input is {"files": {path: text}}; each find is a line of JSON on standard output, of which
// controls/sites.py says what it means. Literals stay in the text: to read one is to pass its mutant too. In Go
// $guard$(token, x) is x, inverted if the table says true; $change$(token, x) is x, or another value if it does.
package main

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

const (
	mostSites      = 20000
	mostWanted     = 12
	mostOfOne      = 12
	turned         = "true" // the choice of a mutant that turns something round
	enoughLiterals = 2
	opposites      = "True False NoError Error Nil NotNil Empty NotEmpty Zero NotZero Contains NotContains Same NotSame Panics" +
		" NotPanics Greater LessOrEqual Less GreaterOrEqual Regexp NotRegexp ErrorIs NotErrorIs FileExists NoFileExists"
)

var (
	tests       = regexp.MustCompile(`^(Test|Fuzz|Example)([^a-z]|$)`)
	wanted      = regexp.MustCompile(`(?i:want|expect|^exp|result|^output$|^valid|^err|err$)|^[iI]s[A-Z]`)
	helpers     = regexp.MustCompile(`(?i)eq|assert|expect|want|check|same|require|must|verify|match|test`)
	failures    = regexp.MustCompile(`^(Error|Errorf|Fatal|Fatalf|Fail|FailNow)$`)
	testers     = regexp.MustCompile(`^(\*testing\.[TBF]|testing\.TB)$`)
	checkers    = regexp.MustCompile(`^"(github\.com/stretchr/testify/(assert|require|suite)|gotest\.tools/(v3/)?assert)"$`)
	output      = regexp.MustCompile(`(?i)^//\s*(unordered )?output:`)
	equality    = regexp.MustCompile(`^(Equal|EqualValues|Exactly)f?$`)
	last        = regexp.MustCompile(`^(Len|EqualError|InDelta|JSONEq|YAMLEq)f?$`)
	parts       = regexp.MustCompile(`Contains|Has`)
	compares    = regexp.MustCompile(`Equal|Contains|Has|Match|Is$`)
	conversions = regexp.MustCompile(`^(New|Errorf|string|bool|rune|byte|u?int(8|16|32|64)?|float(32|64))$`)
	opposite    = map[string]string{}
)

type edit [3]any

type record map[string]any

// scope says which names are a *testing.T or its kin ("tester"), and which have assertions as methods ("asserter").
type scope map[string]string

type finder struct {
	file   string
	src    []byte
	place  *token.File
	test   string
	found  []record
	values int
	types  map[string]ast.Expr
	words  []string        // of all of its texts
	checks bool            // a package of assertions is imported
	wants  []expected      // elements of composite literals that a test expects
	known  map[string]bool // names of what it expects that has mutants
}

type expected struct {
	table token.Pos
	name  string
	node  ast.Expr
}

func (f *finder) at(pos token.Pos) int { return f.place.Offset(pos) }

func (f *finder) text(node ast.Node) string { return string(f.src[f.at(node.Pos()):f.at(node.End())]) }

func (f *finder) add(kind string, entry record) {
	entry["kind"], entry["file"] = kind, f.file
	f.found = append(f.found, entry)
}

// receipt adds the receipt of what ends at pos.
func (f *finder) receipt(pos token.Pos, required bool) {
	at := f.at(pos)
	edits := []edit{{at, at, `; $receipt$("$token$")`}}
	f.add("receipt", record{"test": f.test, "order": at, "required": required, "edits": edits})
}

// value adds something that is read from the table and returns its number.
func (f *finder) value(text string, edits ...edit) int {
	f.add("value", record{"edits": edits, "text": text})
	f.values++
	return f.values - 1
}

// turned adds a mutant for which an expression is in a call that can give another value; the call's edit takes the
// byte before it along, to be outside of every other edit.
func (f *finder) turned(order token.Pos, node ast.Node, role string) {
	start, end := f.at(node.Pos()), f.at(node.End())
	opening := string(f.src[start-1:start]) + role + `("$token$", `
	f.mutant(order, []string{turned}, f.value("false", edit{start - 1, start, opening}, edit{end, end, ")"}))
}

// preferLiterals removes what is turned round from the mutants found since first, if there are others: what a test
// expects instead looks like any other test, while a condition that is turned round is no natural one.
func (f *finder) preferLiterals(first int) {
	kept, literal := append([]record{}, f.found[:first]...), 0
	for _, entry := range f.found[first:] {
		choices, isMutant := entry["choices"].([]string)
		if isMutant && choices[0] == turned && entry["value"] != nil {
			continue
		}
		if isMutant {
			literal++
		}
		kept = append(kept, entry)
	}
	if literal >= enoughLiterals {
		f.found = kept
	}
}

// mutant adds a mutant of an assertion: other values in the table (number 0 or more), or other texts.
func (f *finder) mutant(order token.Pos, choices []string, number int, edits ...edit) {
	entry := record{"test": f.test, "order": f.at(order), "choices": choices}
	if number >= 0 {
		entry["value"] = number
	} else {
		entry["edits"] = edits
	}
	if len(choices) > 0 {
		f.add("mutant", entry)
	}
}

// some returns not too many of what was found, from its beginning to its end.
func some(found []ast.Expr) []ast.Expr {
	if len(found) <= mostOfOne {
		return found
	}
	chosen := []ast.Expr{}
	for at := 0; at < mostOfOne; at++ {
		chosen = append(chosen, found[at*(len(found)-1)/(mostOfOne-1)])
	}
	return chosen
}

// expect adds mutants of the literals of what a test expects, and returns whether there are any.
func (f *finder) expect(order token.Pos, node ast.Expr) bool {
	return f.expectAs(order, node, f.near)
}

// expectPart does the same for what something has to contain: there may be more in it than a test looks for.
func (f *finder) expectPart(order token.Pos, node ast.Expr) bool {
	return f.expectAs(order, node, f.strange)
}

func (f *finder) expectAs(order token.Pos, node ast.Expr, others func(ast.Expr) []string) bool {
	found := literals(node)
	for _, literal := range some(found) {
		f.mutant(order, others(literal), -1, edit{f.at(literal.Pos()), f.at(literal.End()), "$choice$"})
	}
	return len(found) > 0
}

// suites returns the types whose methods are tests of a function that runs them as a suite.
func suites(tree *ast.File) map[string]string {
	found := map[string]string{}
	for _, decl := range tree.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Recv != nil || !tests.MatchString(function.Name.Name) {
			continue
		}
		ast.Inspect(function, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if ok && len(call.Args) == 2 && rootOf(call.Fun) == "suite" && nameOf(call.Fun) == "Run" {
				ast.Inspect(call.Args[1], func(node ast.Node) bool {
					if name, ok := node.(*ast.Ident); ok && name.Name != "new" {
						found[name.Name] = function.Name.Name
					}
					return true
				})
			}
			return true
		})
	}
	return found
}

// search finds everything in one file.
func search(path, text string) []record {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || strings.Contains(text, "\r") {
		return nil // the compiler will say what is wrong with it; offsets are not right where lines end in two bytes
	}
	f := &finder{file: path, src: []byte(text), place: files.File(tree.Pos()), types: map[string]ast.Expr{}}
	for _, entry := range tree.Imports {
		f.checks = f.checks || checkers.MatchString(entry.Path.Value)
	}
	ast.Inspect(tree, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.TypeSpec:
			f.types[node.Name.Name] = node.Type
		case *ast.BasicLit:
			if text, err := strconv.Unquote(node.Value); err == nil && node.Kind == token.STRING {
				f.words = append(f.words, wordIn.FindAllString(text, -1)...)
			}
		}
		return true
	})
	owners := suites(tree)
	for _, decl := range tree.Decls {
		if node, ok := decl.(*ast.FuncDecl); ok && node.Body != nil && tests.MatchString(node.Name.Name) {
			f.function(node, owners, tree.Comments)
		}
	}
	return f.found[:min(len(f.found), mostSites)]
}

func (f *finder) function(node *ast.FuncDecl, owners map[string]string, comments []*ast.CommentGroup) {
	names, tested := f.with(scope{"assert": "asserter", "require": "asserter"}, node.Type)
	f.test = node.Name.Name
	if !f.checks {
		names["assert"], names["require"] = "", ""
	}
	if node.Recv != nil {
		receiver := node.Recv.List[0]
		f.test = owners[strings.TrimPrefix(f.text(receiver.Type), "*")]
		if f.test == "" || len(receiver.Names) == 0 {
			return
		}
		names[receiver.Names[0].Name] = "asserter"
	} else if !tested && len(node.Type.Params.List) > 0 {
		return // TestMain
	}
	first := len(f.found)
	f.wants, f.known = nil, map[string]bool{}
	f.wantsOf(node.Body)
	for at, step := 0, 1+len(f.wants)/mostWanted; at < len(f.wants); at += step {
		want := f.wants[at]
		if text := f.text(want.node); text != `""` && text != "0" { // what a case has that is expected to fail
			expect := f.expect
			if strings.Contains(strings.ToLower(want.name), "err") {
				expect = f.expectPart // an error's text may say more
			}
			f.known[want.name] = expect(want.table, want.node) || f.known[want.name]
		}
	}
	f.body(node.Body, names, node.Recv == nil && !recovers(node.Body))
	if strings.HasPrefix(f.test, "Example") {
		f.example(node.Body, comments)
	}
	f.preferLiterals(first)
	f.test = ""
}

func main() {
	for words, at := strings.Fields(opposites), 0; at < len(words); at += 2 {
		opposite[words[at]], opposite[words[at+1]] = words[at+1], words[at]
	}
	var input struct{ Files map[string]string }
	if json.NewDecoder(os.Stdin).Decode(&input) != nil {
		os.Exit(2)
	}
	paths := []string{}
	for path := range input.Files {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	buffer := bufio.NewWriter(os.Stdout)
	out := json.NewEncoder(buffer)
	for _, path := range paths {
		for _, found := range search(path, input.Files[path]) {
			if out.Encode(found) != nil {
				os.Exit(2)
			}
		}
	}
	if buffer.Flush() != nil {
		os.Exit(2)
	}
}
