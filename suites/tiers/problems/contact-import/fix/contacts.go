// Package contacts reads contacts from files that people made.
package contacts

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
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

var (
	address = regexp.MustCompile(`^[^@\s]+@[^@\s.]([^@\s]*[^@\s.])?$`)
	phone   = regexp.MustCompile(`^\+?[0-9()][-0-9 /.()]*$`)
	digit   = regexp.MustCompile(`[^0-9]`)
	columns = []string{"email", "name", "phone", "tags"}
)

// Import reads contacts.
func Import(reader io.Reader, known func(email string) bool) (Report, error) {
	var report Report
	rows, err := open(reader)
	if err != nil {
		return report, err
	}
	head, err := rows.Read()
	if err == io.EOF {
		return report, fmt.Errorf("%w: there is no first line", ErrColumns)
	}
	if err != nil {
		return report, syntax(err)
	}
	places := map[string]int{}
	for place, name := range head {
		name = strings.TrimSpace(name)
		lower := strings.ToLower(name)
		if _, twice := places[lower]; twice {
			return report, fmt.Errorf("%w: %s is there twice", ErrColumns, lower)
		}
		if slices.Contains(columns, lower) {
			places[lower] = place
		} else {
			report.Ignored = append(report.Ignored, name)
		}
	}
	for _, name := range columns[:2] {
		if _, found := places[name]; !found {
			return report, fmt.Errorf("%w: %s is missing", ErrColumns, name)
		}
	}
	seen := map[string]bool{}
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return report, nil
		}
		if err != nil {
			return report, syntax(err)
		}
		if strings.TrimSpace(strings.Join(row, "")) == "" {
			continue
		}
		contact, reason := read(row, len(head), places)
		if reason == "" && seen[contact.Email] {
			reason = "repeated"
		}
		if reason == "" && known(contact.Email) {
			reason = "known"
		}
		if reason != "" {
			line, _ := rows.FieldPos(0)
			report.Problems = append(report.Problems, Problem{line, reason})
			continue
		}
		seen[contact.Email] = true
		report.Contacts = append(report.Contacts, contact)
	}
}

func open(reader io.Reader) (*csv.Reader, error) {
	text := bufio.NewReaderSize(reader, 1<<16)
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		text.Discard(3)
	}
	start, err := text.Peek(1 << 16)
	if err != nil && err != io.EOF && len(start) == 0 {
		return nil, err
	}
	first, _, _ := strings.Cut(string(start), "\n")
	rows := csv.NewReader(text)
	rows.FieldsPerRecord = -1
	if strings.Count(first, ";") > strings.Count(first, ",") {
		rows.Comma = ';'
	}
	return rows, nil
}

func syntax(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%w: line %d", ErrSyntax, parse.StartLine)
	}
	return err
}

func read(row []string, fields int, places map[string]int) (Contact, string) {
	if len(row) != fields {
		return Contact{}, "fields"
	}
	field := func(name string) string {
		if place, found := places[name]; found {
			return strings.TrimSpace(row[place])
		}
		return ""
	}
	contact := Contact{
		Email: strings.ToLower(field("email")),
		Name:  strings.Join(strings.Fields(field("name")), " "),
	}
	_, domain, _ := strings.Cut(contact.Email, "@")
	if !address.MatchString(contact.Email) || !strings.Contains(domain, ".") {
		return contact, "email"
	}
	if contact.Name == "" {
		return contact, "name"
	}
	if given := field("phone"); given != "" {
		digits := digit.ReplaceAllString(given, "")
		if !phone.MatchString(given) || len(digits) < 6 || len(digits) > 15 {
			return contact, "phone"
		}
		if given[0] == '+' {
			digits = "+" + digits
		}
		contact.Phone = digits
	}
	for _, tag := range strings.Split(strings.ToLower(field("tags")), "|") {
		tag = strings.TrimSpace(tag)
		if tag != "" && !slices.Contains(contact.Tags, tag) {
			contact.Tags = append(contact.Tags, tag)
		}
	}
	return contact, ""
}
