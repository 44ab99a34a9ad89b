// The literals of Go test files: which ones a call can take the place of, and what is near to them. Part of go_sites.go.
package main

import (
	"go/ast"
	"go/token"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

const mostNear = 6

var wordIn = regexp.MustCompile(`[A-Za-z]{2,}`)

// kindOf returns the kind of a literal, of a negative number too, or ILLEGAL; true and false are of the kind IDENT.
func kindOf(node ast.Node) token.Token {
	switch node := node.(type) {
	case *ast.BasicLit:
		return node.Kind
	case *ast.UnaryExpr:
		if kind := kindOf(node.X); node.Op == token.SUB && (kind == token.INT || kind == token.FLOAT) {
			return kind
		}
	case *ast.Ident:
		if node.Name == "true" || node.Name == "false" {
			return token.IDENT
		}
	}
	return token.ILLEGAL
}

// literals returns the literals that decide what node is, if it is written out.
func literals(node ast.Expr) []ast.Expr {
	if kind := kindOf(node); kind != token.ILLEGAL && kind != token.IMAG {
		return []ast.Expr{node}
	}
	var found []ast.Expr
	switch node := node.(type) {
	case *ast.CompositeLit:
		for _, part := range node.Elts {
			if pair, ok := part.(*ast.KeyValueExpr); ok {
				part = pair.Value
			}
			found = append(found, literals(part)...)
		}
	case *ast.UnaryExpr:
		if node.Op == token.AND {
			return literals(node.X)
		}
	case *ast.CallExpr:
		_, listed := node.Fun.(*ast.ArrayType)
		if converts := listed || conversions.MatchString(nameOf(node.Fun)); converts && len(node.Args) == 1 {
			return literals(node.Args[0])
		}
	}
	return found
}

// near returns the texts of other values of the same kind, as near as an honest mistake is; kind is a type or empty.
func (f *finder) near(literal ast.Expr, kind string) []string {
	text, sign := "", int64(1)
	if minus, ok := literal.(*ast.UnaryExpr); ok {
		literal, sign = minus.X, -1
	}
	found := []string{}
	switch node := literal.(type) {
	case *ast.Ident:
		return []string{map[string]string{"true": "false", "false": "true"}[node.Name]}
	case *ast.BasicLit:
		text = node.Value
		switch node.Kind {
		case token.INT:
			number, err := strconv.ParseInt(text, 0, 64)
			number *= sign
			if err == nil && (number < 127 || number&(number+1) != 0) { // the largest of its type, perhaps
				found = append(found, strconv.FormatInt(number+1, 10))
			}
			if err == nil && number != 0 && (number > -128 || number&(-number) != -number) {
				found = append(found, strconv.FormatInt(number-1, 10))
			}
			for _, times := range []int64{2, 3} { // what right ones are multiples of, these are too
				if room := int64(math.MaxInt8); err == nil && number != 0 && max(number, -number) <= room/times {
					found = append(found, strconv.FormatInt(times*number, 10))
				}
			}
		case token.FLOAT:
			number, err := strconv.ParseFloat(text, 64)
			for _, step := range []float64{1, -1, 2} {
				if err == nil {
					found = append(found, strconv.FormatFloat(float64(sign)*number+step, 'g', -1, 64))
				}
			}
		case token.CHAR:
			if inner := text[1 : len(text)-1]; len(inner) == 1 {
				found = append(found, strconv.QuoteRune(rune(other(inner, 0)[0])))
			}
		case token.STRING:
			if inner, err := strconv.Unquote(text); err == nil {
				for _, one := range nearTexts(inner, f.words) {
					found = append(found, strconv.Quote(one))
				}
			}
		}
	}
	for at := range found {
		if kind != "" {
			found[at] = kind + "(" + found[at] + ")"
		}
	}
	return found
}

// nearTexts returns texts that differ from text by a word of words, its case, a digit or a sign.
func nearTexts(text string, words []string) []string {
	found := []string{}
	own := wordIn.FindAllStringIndex(text, -1)
	for at := 0; at < len(own); at += 1 + len(own)/3 {
		before, word, after := text[:own[at][0]], text[own[at][0]:own[at][1]], text[own[at][1]:]
		best := ""
		for _, one := range words {
			if !strings.EqualFold(one, word) && (best == "" || away(one, word) < away(best, word)) {
				best = one
			}
		}
		if best != "" {
			found = append(found, before+styled(best, word)+after)
		}
		turned := strings.ToUpper(word[:1])
		if turned == word[:1] {
			turned = strings.ToLower(turned)
		}
		found = append(found, before+turned+word[1:]+after)
	}
	for at := 0; at < len(text) && len(found) < mostNear; at++ {
		letter := text[at]
		switch {
		case '0' <= letter && letter <= '9':
			found = append(found, other(text, at))
		case letter < 0x80 && !unicode.IsLetter(rune(letter)):
			found = append(found, text[:at+1]+text[at:])
		}
	}
	if len(found) == 0 {
		found = append(found, other(text, 0))
	}
	return found
}

// away returns by how many letters one text is longer than the other.
func away(one, other string) int {
	return max(len(one)-len(other), len(other)-len(one))
}

// strange returns a value that nothing has beside the literal's which was not asked for it, or nothing.
func (f *finder) strange(literal ast.Expr, kind string) []string {
	if kindOf(literal) == token.IDENT {
		return f.near(literal, kind)
	}
	node, ok := literal.(*ast.BasicLit)
	if !ok || node.Kind != token.STRING || node.Value == `""` || node.Value == "``" {
		return nil
	}
	inner, err := strconv.Unquote(node.Value)
	if err != nil {
		return nil
	}
	doubled := strconv.Quote(inner + inner)
	if kind != "" {
		doubled = kind + "(" + doubled + ")"
	}
	return []string{doubled}
}

// styled returns word in capitals, with a capital, or in small letters, as like is.
func styled(word, like string) string {
	if like == strings.ToUpper(like) {
		return strings.ToUpper(word)
	}
	if word = strings.ToLower(word); unicode.IsUpper(rune(like[0])) {
		return strings.ToUpper(word[:1]) + word[1:]
	}
	return word
}

// other returns a text that differs in one letter or digit, the first one from a place on, or ends in one more.
func other(text string, from int) string {
	for step := range []byte(text) {
		at := (from + step) % len(text)
		for _, kind := range []string{"0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
			if place := strings.IndexByte(kind, text[at]); place >= 0 {
				letter := kind[(place+1)%len(kind)]
				return text[:at] + string(rune(letter)) + text[at+1:]
			}
		}
	}
	return text + "x"
}

// hide replaces a literal of a known type by a call.
func (f *finder) hide(literal ast.Expr, kind string) {
	found := kindOf(literal)
	if kind == "" || found == token.ILLEGAL || found == token.IMAG || (found == token.IDENT && kind != "bool") {
		return
	}
	text := f.text(literal)
	breaks := strings.Repeat("\n", strings.Count(text, "\n"))
	place := edit{f.at(literal.Pos()), f.at(literal.End()), `$value$(` + breaks + `"$token$").(` + kind + ")"}
	f.hidden[literal.Pos()] = secret{f.value(kind+"("+text+")", place), kind}
}

// usual returns the type that a literal has by itself; none where it could be too large for it.
func usual(literal ast.Expr) string {
	if kindOf(literal) == token.INT {
		text := literal
		if minus, ok := literal.(*ast.UnaryExpr); ok {
			text = minus.X
		}
		if _, err := strconv.ParseInt(text.(*ast.BasicLit).Value, 0, 32); err != nil {
			return ""
		}
	}
	return map[token.Token]string{token.STRING: "string", token.INT: "int", token.FLOAT: "float64", token.CHAR: "rune"}[kindOf(literal)]
}

// element hides what is written as an element of a composite literal, of the type kind.
func (f *finder) element(node, kind ast.Expr) {
	inner, isComposite := node.(*ast.CompositeLit)
	switch {
	case isComposite:
		f.composite(inner, kind)
	case kindOf(node) == token.ILLEGAL:
		f.secrets(node)
	case kind == nil:
	case basic[f.text(kind)]:
		f.hide(node, f.text(kind))
	case f.text(kind) == "any" || f.text(kind) == "interface{}":
		f.hide(node, usual(node))
	}
}

// composite hides the elements of a composite literal, and notes those that a test expects, by their names; kind is the
// literal's type where it names none itself.
func (f *finder) composite(node *ast.CompositeLit, kind ast.Expr) {
	if f.table == token.NoPos {
		f.table = node.Pos()
		defer func() { f.table = token.NoPos }()
	}
	if node.Type != nil {
		kind = node.Type
	}
	if pointer, ok := kind.(*ast.StarExpr); ok {
		kind = pointer.X
	}
	if name, ok := kind.(*ast.Ident); ok {
		kind = f.types[name.Name]
	}
	fields := []*ast.Field{}
	types := map[string]ast.Expr{}
	if structure, ok := kind.(*ast.StructType); ok {
		for _, field := range structure.Fields.List {
			for _, name := range field.Names {
				fields = append(fields, &ast.Field{Names: []*ast.Ident{name}, Type: field.Type})
				types[name.Name] = field.Type
			}
		}
	}
	for at, part := range node.Elts {
		name := ""
		if pair, ok := part.(*ast.KeyValueExpr); ok {
			name, part = nameOf(pair.Key), pair.Value
		} else if at < len(fields) {
			name = fields[at].Names[0].Name
		}
		switch kind := kind.(type) {
		case *ast.ArrayType:
			f.element(part, kind.Elt)
		case *ast.MapType:
			f.element(part, kind.Value)
		default:
			f.element(part, types[name])
			if wanted.MatchString(name) {
				f.wants = append(f.wants, expected{f.table, name, part})
			}
		}
	}
}

// compared hides the literal of a comparison, whatever the type of the other side: the comparison becomes a call.
func (f *finder) compared(node *ast.BinaryExpr) bool {
	if node.Op != token.EQL && node.Op != token.NEQ {
		return false
	}
	opening := map[token.Token]string{token.EQL: "", token.NEQ: "!"}[node.Op] + `$guard$("$token$", `
	left, right := usual(node.X), usual(node.Y)
	if (left == "") == (right == "") {
		return false
	}
	literal, rest := node.Y, node.X
	start, end := f.at(rest.Pos()), f.at(rest.End())
	edits := []edit{{start, start, opening}, {end, f.at(node.End()), ")"}}
	if left != "" {
		literal, rest = node.X, node.Y
		edits = []edit{{f.at(literal.Pos()), f.at(rest.Pos()), opening}, {f.at(rest.End()), f.at(rest.End()), ")"}}
	}
	if strings.Count(f.text(node), "\n") != strings.Count(f.text(rest), "\n") {
		return false // a long text, or a break at the operator
	}
	f.hidden[literal.Pos()] = secret{f.value(f.text(literal), edits...), usual(literal)}
	f.secrets(rest)
	return true
}

// secrets hides the literals below node, where a call can take their place whatever the types of the rest are.
func (f *finder) secrets(node ast.Node) {
	ast.Inspect(node, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GenDecl:
			return node.Tok == token.VAR
		case *ast.ArrayType, *ast.StructType, *ast.InterfaceType:
			return false
		case *ast.CompositeLit:
			f.composite(node, nil)
			return false
		case *ast.BinaryExpr:
			return !f.compared(node)
		case *ast.AssignStmt:
			if node.Tok == token.DEFINE && len(node.Lhs) == 1 && len(node.Rhs) == 1 {
				f.hide(node.Rhs[0], usual(node.Rhs[0]))
			}
		case *ast.ValueSpec:
			for _, value := range node.Values {
				if kind := node.Type; kind == nil {
					f.hide(value, usual(value))
				} else {
					f.element(value, kind)
				}
			}
			return node.Type == nil
		case *ast.CallExpr:
			f.arguments(node)
		}
		return true
	})
}

// arguments hides the literals that assertions are given, of those packages whose parameters are known.
func (f *finder) arguments(call *ast.CallExpr) {
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !f.checks {
		return
	}
	for at, arg := range call.Args {
		switch {
		case anyKind.MatchString(function.Sel.Name) && at < 3:
			f.hide(arg, usual(arg))
		case textual.MatchString(function.Sel.Name) && at < 3 && usual(arg) == "string":
			f.hide(arg, "string")
		}
	}
}
