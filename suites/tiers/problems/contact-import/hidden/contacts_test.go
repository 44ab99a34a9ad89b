package contacts

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func nobody(string) bool { return false }

func read1(t *testing.T, text string) Report {
	t.Helper()
	report, err := Import(strings.NewReader(text), nobody)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestContacts(t *testing.T) {
	ann := Contact{Email: "ann@example.org", Name: "Ann Lee"}
	for _, c := range []struct {
		name string
		text string
		want Contact
	}{
		{"plain", "email,name\nann@example.org,Ann Lee\n", ann},
		{"no line break at the end", "email,name\nann@example.org,Ann Lee", ann},
		{"other order", "name,email\nAnn Lee,ann@example.org\n", ann},
		{"semicolons", "email;name\nann@example.org;Ann Lee\n", ann},
		{"line ends of Windows", "email,name\r\nann@example.org,Ann Lee\r\n", ann},
		{"byte order mark", "\ufeffemail,name\nann@example.org,Ann Lee\n", ann},
		{"blanks and letters", " EMail , Name \n Ann@Example.ORG ,  Ann \t Lee \n", ann},
		{"quotes", "email,name\n\"ann@example.org\",\"Ann\nLee\"\n", ann},
		{"quoted separators", "email,name\na@b.c,\"Lee, \"\"Ann\"\"\"\n", Contact{Email: "a@b.c", Name: `Lee, "Ann"`}},
		{"another column", "email,age,name\nann@example.org,5,Ann Lee\n", ann},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := read1(t, c.text)
			if !reflect.DeepEqual(report.Contacts, []Contact{c.want}) || report.Problems != nil {
				t.Errorf("has %v", report)
			}
		})
	}
}

func TestPhones(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{"", ""},
		{"123456", "123456"},
		{"+49 (30) 12-34/5.6", "+4930123456"},
		{"(030) 123456", "030123456"},
		{"123456789012345", "123456789012345"},
		{"12345", "phone"},
		{"1234567890123456", "phone"},
		{"12345x6", "phone"},
		{"123+456", "phone"},
		{"++123456", "phone"},
		{"٣٤٥٦٧٨", "phone"},
	} {
		t.Run(c.text, func(t *testing.T) {
			report := read1(t, "email,name,phone\na@b.c,A,"+c.text+"\n")
			got := ""
			if len(report.Problems) == 1 {
				got = report.Problems[0].Reason
			} else if len(report.Contacts) == 1 {
				got = report.Contacts[0].Phone
			} else {
				t.Fatal("nothing was read")
			}
			if got != c.want {
				t.Errorf("is %q, not %q", got, c.want)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		email string
		want  bool
	}{
		{"a@b.c", true},
		{"a.b+c@sub.example.org", true},
		{"", false},
		{"a", false},
		{"@b.c", false},
		{"a@b", false},
		{"a@@b.c", false},
		{"a@b.c@d.e", false},
		{"a@.b", false},
		{"a@b.", false},
		{"a b@c.d", false},
	} {
		t.Run(c.email, func(t *testing.T) {
			report := read1(t, "name,email\nA,"+c.email+"\n")
			if len(report.Contacts)+len(report.Problems) != 1 {
				t.Fatal("nothing was read")
			}
			if got := len(report.Contacts) == 1; got != c.want {
				t.Errorf("%q: %v", c.email, got)
			}
		})
	}
}

func TestTags(t *testing.T) {
	report := read1(t, "email,name,tags\na@b.c,A, VIP |news||vip|News x\nb@b.c,B,|\n")
	want := []Contact{{"a@b.c", "A", "", []string{"vip", "news", "news x"}}, {"b@b.c", "B", "", nil}}
	if !reflect.DeepEqual(report.Contacts, want) {
		t.Errorf("has %v", report.Contacts)
	}
}

func TestProblemsHaveTheLineOfTheirRow(t *testing.T) {
	text := "email,name\na@b.c,\"A\nB\"\n\n,\nx,Y\nb@b.c,\nc@b.c,C,more\n\"d\n\",E\nA@B.C,again\n"
	report := read1(t, text)
	want := []Problem{{6, "email"}, {7, "name"}, {8, "fields"}, {9, "email"}, {11, "repeated"}}
	if !reflect.DeepEqual(report.Problems, want) {
		t.Errorf("has %v", report.Problems)
	}
}

func TestTheFirstReasonCounts(t *testing.T) {
	report := read1(t, "email,name,phone\nx,,y\na@b.c,,y\na@b.c,A,y\na@b.c,A,\n")
	want := []Problem{{2, "email"}, {3, "name"}, {4, "phone"}}
	if !reflect.DeepEqual(report.Problems, want) || len(report.Contacts) != 1 {
		t.Errorf("has %v", report)
	}
}

func TestKnownAddresses(t *testing.T) {
	known := func(email string) bool { return email == "a@b.c" }
	report, err := Import(strings.NewReader("email,name\nA@b.c,A\nb@b.c,B\nA@B.C,A\n"), known)
	want := []Problem{{2, "known"}, {4, "known"}}
	if err != nil || !reflect.DeepEqual(report.Problems, want) {
		t.Errorf("has %v, error %v", report.Problems, err)
	}
}

func TestIgnoredColumns(t *testing.T) {
	report := read1(t, "Age, email ,Home Town,name\n")
	if !reflect.DeepEqual(report.Ignored, []string{"Age", "Home Town"}) {
		t.Errorf("has %v", report.Ignored)
	}
}

func TestColumns(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want error
	}{
		{"nothing", "", ErrColumns},
		{"no name", "email,phone\n", ErrColumns},
		{"no email", "name\n", ErrColumns},
		{"twice", "email,name,Email\n", ErrColumns},
		{"phone twice", "email,name,phone,phone\n", ErrColumns},
		{"others twice", "email,name,x,x\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Import(strings.NewReader(c.text), nobody); !errors.Is(err, c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestSyntax(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want string
	}{
		{"not closed", "email,name\na@b.c,A\nb@b.c,\"B\nc@b.c,C\n", "line 3"},
		{"within a field", "email,name\na@b.c,A\nb@b.c,B\"b\n", "line 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report, err := Import(strings.NewReader(c.text), nobody)
			if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
			if len(report.Contacts) != 1 {
				t.Errorf("has %v", report)
			}
		})
	}
}

func TestAnErrorOfTheReader(t *testing.T) {
	down := errors.New("down")
	text := io.MultiReader(strings.NewReader("email,name\na@b.c,A\n"), iotest.ErrReader(down))
	report, err := Import(text, nobody)
	if !errors.Is(err, down) || len(report.Contacts) != 1 {
		t.Errorf("has %v, error %v", report, err)
	}
}

func TestSmallReads(t *testing.T) {
	report, err := Import(iotest.OneByteReader(strings.NewReader("email;name\na@b.c;A\n")), nobody)
	if err != nil || len(report.Contacts) != 1 {
		t.Errorf("has %v, error %v", report, err)
	}
}
