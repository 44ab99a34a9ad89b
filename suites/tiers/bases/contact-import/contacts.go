// Package contacts reads contacts from files that people made.
package contacts

import (
	"errors"
	"io"
)

// Why a file cannot be read.
var (
	ErrColumns = errors.New("the columns are wrong")
	ErrSyntax  = errors.New("the file is no CSV")
)

// Contact is a row.
type Contact struct {
	Email, Name, Phone string
	Tags               []string
}

// Problem is a row that is no contact.
type Problem struct {
	Line   int
	Reason string
}

// Report is what a file has.
type Report struct {
	Contacts []Contact
	Problems []Problem
	Ignored  []string
}

// Import reads contacts.
func Import(reader io.Reader, known func(email string) bool) (Report, error) {
	return Report{}, errors.New("not implemented")
}
