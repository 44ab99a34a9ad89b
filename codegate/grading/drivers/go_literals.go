// The literals of Go test files: which ones a test expects, and what is near to them. Part of go_sites.go.
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

// near returns the texts of other values of the same kind, as near as an honest mistake is.
func (f *finder) near(literal ast.Expr) []string {
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
func (f *finder) strange(literal ast.Expr) []string {
	if kindOf(literal) == token.IDENT {
		return f.near(literal)
	}
	node, ok := literal.(*ast.BasicLit)
	if !ok || node.Kind != token.STRING || node.Value == `""` || node.Value == "``" {
		return nil
	}
	inner, err := strconv.Unquote(node.Value)
	if err != nil {
		return nil
	}
	return []string{strconv.Quote(inner + inner)}
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

// wantsOf notes the elements of composite literals below node that a test expects, by the names of their fields.
func (f *finder) wantsOf(node ast.Node) {
	ast.Inspect(node, func(node ast.Node) bool {
		if table, ok := node.(*ast.CompositeLit); ok {
			f.composite(table, nil, table.Pos())
			return false
		}
		return true
	})
}

// composite notes what is expected of one literal at the place table; kind is its type where it names none itself.
func (f *finder) composite(node *ast.CompositeLit, kind ast.Expr, table token.Pos) {
	if node.Type != nil {
		kind = node.Type
	}
	if pointer, ok := kind.(*ast.StarExpr); ok {
		kind = pointer.X
	}
	if name, ok := kind.(*ast.Ident); ok {
		kind = f.types[name.Name]
	}
	fields := []string{}
	var inner ast.Expr
	switch kind := kind.(type) {
	case *ast.StructType:
		for _, field := range kind.Fields.List {
			for _, name := range field.Names {
				fields = append(fields, name.Name)
			}
		}
	case *ast.ArrayType:
		inner = kind.Elt
	case *ast.MapType:
		inner = kind.Value
	}
	for at, part := range node.Elts {
		name := ""
		if pair, ok := part.(*ast.KeyValueExpr); ok {
			name, part = nameOf(pair.Key), pair.Value
		} else if at < len(fields) {
			name = fields[at]
		}
		if next, ok := part.(*ast.CompositeLit); ok {
			f.composite(next, inner, table)
		} else {
			f.wantsOf(part)
		}
		if inner == nil && wanted.MatchString(name) {
			f.wants = append(f.wants, expected{table, name, part})
		}
	}
}
