// The statements of Go tests: where receipts go, and what can be asked of an assertion instead. Part of go_sites.go.
package main

import (
	"go/ast"
	"go/token"
	"strings"
)

// nameOf returns the last name of what is called, or a key.
func nameOf(node ast.Expr) string {
	switch node := node.(type) {
	case *ast.SelectorExpr:
		return node.Sel.Name
	case *ast.Ident:
		return node.Name
	case *ast.IndexExpr:
		return nameOf(node.X)
	}
	return ""
}

// rootOf returns the first name of a chain of selectors and calls.
func rootOf(node ast.Expr) string {
	switch node := node.(type) {
	case *ast.SelectorExpr:
		return rootOf(node.X)
	case *ast.CallExpr:
		return rootOf(node.Fun)
	}
	return nameOf(node)
}

// with returns the scope of a function inside: what it has, and its parameters; false when none of them is a tester.
func (f *finder) with(names scope, kind *ast.FuncType) (scope, bool) {
	inner, found := scope{}, false
	for name, role := range names {
		inner[name] = role
	}
	for _, field := range kind.Params.List {
		for _, name := range field.Names {
			delete(inner, name.Name)
			if testers.MatchString(f.text(field.Type)) {
				inner[name.Name], found = "tester", true
			}
		}
	}
	return inner, found
}

// leaves returns whether a statement may end the function that it is in.
func leaves(stmt ast.Stmt) bool {
	found := false
	ast.Inspect(stmt, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		case *ast.BranchStmt:
			found = found || node.Tok == token.GOTO
		}
		return !found
	})
	return found
}

// recovers returns whether a panic may be what a function waits for: the rest of it is not run then.
func recovers(block *ast.BlockStmt) bool {
	found := false
	ast.Inspect(block, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		found = found || ok && nameOf(call.Fun) == "recover"
		return !found
	})
	return found
}

// body finds everything in a function's body, and its end; certain: a test that passes has run it.
func (f *finder) body(block *ast.BlockStmt, names scope, certain bool) {
	f.receipt(block.Rbrace, f.statements(block.List, names, certain))
}

func (f *finder) statements(list []ast.Stmt, names scope, certain bool) bool {
	for _, stmt := range list {
		f.statement(stmt, names, certain)
		certain = certain && !leaves(stmt)
	}
	return certain
}

func (f *finder) statement(stmt ast.Stmt, names scope, certain bool) {
	switch node := stmt.(type) {
	case *ast.ExprStmt:
		if call, ok := node.X.(*ast.CallExpr); ok {
			f.call(call, names, certain)
		}
	case *ast.DeferStmt:
		if function, ok := node.Call.Fun.(*ast.FuncLit); ok {
			f.statements(function.Body.List, names, false)
		}
	case *ast.AssignStmt:
		if node.Tok == token.DEFINE && len(node.Lhs) == 1 && len(node.Rhs) == 1 {
			f.assigned(nameOf(node.Lhs[0]), node.Rhs[0], names)
		}
	case *ast.DeclStmt:
		for _, spec := range node.Decl.(*ast.GenDecl).Specs {
			if spec, ok := spec.(*ast.ValueSpec); ok && len(spec.Names) == 1 && len(spec.Values) == 1 {
				f.assigned(spec.Names[0].Name, spec.Values[0], names)
			}
		}
	case *ast.IfStmt:
		if f.check(node, names) {
			f.receipt(node.End(), certain)
		}
		f.branches(node, names)
	case *ast.BlockStmt:
		f.statements(node.List, names, certain)
	case *ast.LabeledStmt:
		f.statement(node.Stmt, names, certain)
	case *ast.ForStmt:
		f.statements(node.Body.List, names, false)
	case *ast.RangeStmt:
		f.statements(node.Body.List, names, false)
	case *ast.SwitchStmt:
		f.statements(node.Body.List, names, false)
	case *ast.TypeSwitchStmt:
		f.statements(node.Body.List, names, false)
	case *ast.SelectStmt:
		f.statements(node.Body.List, names, false)
	case *ast.CaseClause:
		f.statements(node.Body, names, false)
	case *ast.CommClause:
		f.statements(node.Body, names, false)
	}
}

// branches finds everything inside of an if statement; how a failure is told is no assertion.
func (f *finder) branches(node *ast.IfStmt, names scope) {
	if !fails(node.Body, names) {
		f.statements(node.Body.List, names, false)
	}
	switch other := node.Else.(type) {
	case *ast.BlockStmt:
		if !fails(other, names) {
			f.statements(other.List, names, false)
		}
	case *ast.IfStmt:
		f.branches(other, names)
	}
}

// assigned takes note of what a name is given: assertions bound to a tester, or what the test expects.
func (f *finder) assigned(name string, value ast.Expr, names scope) {
	if call, ok := value.(*ast.CallExpr); ok && nameOf(call.Fun) == "New" && hasTester(call.Args, names) {
		names[name] = "asserter"
	} else if wanted.MatchString(name) {
		f.known[name] = f.expect(value.Pos(), value) || f.known[name]
	}
}

func hasTester(args []ast.Expr, names scope) bool {
	for _, arg := range args {
		if name, ok := arg.(*ast.Ident); ok && names[name.Name] == "tester" {
			return true
		}
	}
	return false
}

// fails returns whether a block reports a failure, whichever way it is left.
func fails(block *ast.BlockStmt, names scope) bool {
	if block == nil {
		return false
	}
	for _, stmt := range block.List {
		switch node := stmt.(type) {
		case *ast.ExprStmt:
			call, ok := node.X.(*ast.CallExpr)
			if ok && names[rootOf(call.Fun)] != "" && failures.MatchString(nameOf(call.Fun)) {
				return true
			}
		case *ast.IfStmt:
			if other, ok := node.Else.(*ast.BlockStmt); ok && fails(node.Body, names) && fails(other, names) {
				return true
			}
		}
	}
	return false
}

// check finds the mutants of an if statement that reports a failure, and returns whether it is one.
func (f *finder) check(node *ast.IfStmt, names scope) bool {
	found := false
	for order := node.End(); node != nil; {
		other, _ := node.Else.(*ast.BlockStmt)
		switch {
		case fails(node.Body, names):
			found = true
			f.condition(order, node.Cond, node.Body, true)
		case fails(other, names):
			found = true
			f.condition(order, node.Cond, other, false)
		}
		node, _ = node.Else.(*ast.IfStmt)
	}
	return found
}

// condition finds the mutants of a condition: another literal where it asks for one, else its opposite.
func (f *finder) condition(order token.Pos, cond ast.Expr, block *ast.BlockStmt, bad bool) {
	if f.asks(order, cond, bad) {
		return
	}
	if pair, ok := cond.(*ast.BinaryExpr); ok && pair.Op == token.NEQ && nameOf(pair.Y) == "nil" {
		if strings.Contains(f.text(block), f.text(pair.X)+".") {
			return // err.Error() of no error would end the process
		}
	}
	f.turned(order, cond, "$guard$")
}

// asks finds the literals that something has to equal for the test to pass; bad: the condition is that of a failure. A
// literal is the better mutant: a condition that is turned round is no natural one.
func (f *finder) asks(order token.Pos, cond ast.Expr, bad bool) bool {
	switch node := cond.(type) {
	case *ast.ParenExpr:
		return f.asks(order, node.X, bad)
	case *ast.UnaryExpr:
		return node.Op == token.NOT && f.asks(order, node.X, !bad)
	case *ast.BinaryExpr:
		switch {
		case bad && node.Op == token.LOR, !bad && node.Op == token.LAND:
			left, right := f.asks(order, node.X, bad), f.asks(order, node.Y, bad)
			return left || right
		case bad && node.Op == token.NEQ, !bad && node.Op == token.EQL:
			return f.expect(order, node.Y) || f.expect(order, node.X) || f.known[nameOf(node.Y)] || f.known[nameOf(node.X)]
		}
	case *ast.CallExpr:
		if !bad && compares.MatchString(nameOf(node.Fun)) && len(node.Args) >= 2 {
			left, right, expect := node.Args[0], node.Args[1], f.expect
			if parts.MatchString(nameOf(node.Fun)) {
				expect = f.expectPart
			}
			return expect(order, right) || expect(order, left) || f.known[nameOf(right)] || f.known[nameOf(left)]
		}
	}
	return false
}

// call finds everything in a statement that is a call: subtests, and assertions with their receipts.
func (f *finder) call(call *ast.CallExpr, names scope, certain bool) {
	base, name := rootOf(call.Fun), nameOf(call.Fun)
	role := names[base]
	if role == "tester" && name != "Run" && name != "Fuzz" {
		return
	}
	if role == "" && !hasTester(call.Args, names) {
		return
	}
	for _, arg := range call.Args {
		if function, ok := arg.(*ast.FuncLit); ok {
			if inner, ok := f.with(names, function.Type); ok {
				f.body(function.Body, inner, false)
			}
		}
	}
	f.receipt(call.End(), certain)
	if role != "tester" {
		f.assertion(call, name, names)
	}
}

// assertion finds the mutants of a call that asserts something.
func (f *finder) assertion(call *ast.CallExpr, name string, names scope) {
	args, order := call.Args, call.End()
	if hasTester(args[:min(1, len(args))], names) {
		args = args[1:]
	}
	selector, _ := call.Fun.(*ast.SelectorExpr)
	plain := strings.TrimSuffix(name, "f")
	known := f.checks && selector != nil
	switch {
	case known && len(args) >= 2 && equality.MatchString(name):
		if !f.expect(order, args[0]) && !f.expect(order, args[1]) {
			f.turned(order, args[1], "$change$")
		}
	case known && len(args) >= 2 && parts.MatchString(name) && (f.expectPart(order, args[1]) || f.expectPart(order, args[0])):
	case known && len(args) >= 2 && last.MatchString(name) && (f.expect(order, args[1]) || f.expect(order, args[0])):
	case known && opposite[plain] != "":
		start, end := f.at(selector.Sel.Pos()), f.at(selector.Sel.End())
		f.mutant(order, []string{opposite[plain] + strings.TrimPrefix(name, plain)}, -1, edit{start, end, "$choice$"})
	case selector != nil && len(args) >= 2 && rootOf(args[1]) == "qt": // c.Assert(got, qt.Equals, want)
		if strings.Contains(f.text(args[1]), "Not") {
			return
		}
		if value := args[min(len(args)-1, 2)]; len(args) == 2 || !f.expect(order, value) {
			f.turned(order, args[0], "$change$")
		}
	case helpers.MatchString(name) && !strings.Contains(name, "Not"):
		for at, arg := range args {
			if at > 1 && usual(arg) == "string" && strings.ContainsAny(f.text(arg), " %") {
				return // a message
			}
			if !isCondition(arg) {
				f.expect(order, arg)
			} else if !f.asks(order, arg, false) {
				f.turned(order, arg, "$guard$")
			}
		}
	}
}

// isCondition returns whether an expression is a bool by its form.
func isCondition(node ast.Expr) bool {
	switch node := node.(type) {
	case *ast.ParenExpr:
		return isCondition(node.X)
	case *ast.UnaryExpr:
		return node.Op == token.NOT
	case *ast.BinaryExpr:
		return node.Op.Precedence() <= token.EQL.Precedence()
	}
	return false
}

// example finds the mutants of what an example prints: the last line of its comment.
func (f *finder) example(block *ast.BlockStmt, groups []*ast.CommentGroup) {
	for at := len(groups) - 1; at >= 0; at-- {
		group := groups[at]
		if group.Pos() > block.End() {
			continue
		}
		if group.Pos() > block.Pos() && output.MatchString(group.List[0].Text) {
			line := group.List[len(group.List)-1]
			text, skipped := line.Text, 2
			if len(group.List) == 1 {
				skipped = len(output.FindString(text))
			}
			if expected := text[skipped:]; strings.TrimSpace(expected) != "" {
				choice := other(expected, 0)
				start, end := f.at(line.Pos())+skipped, f.at(line.End())
				f.mutant(block.Pos(), []string{choice}, -1, edit{start, end, "$choice$"})
			}
		}
		return
	}
}
