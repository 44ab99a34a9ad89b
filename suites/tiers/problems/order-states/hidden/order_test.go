package order

import (
	"errors"
	"reflect"
	"strconv"
	"testing"
)

const day = 24 * 3600

// after returns an order of 1000 cents, created at 0, to which events of these kinds came 10 seconds apart.
func after(t *testing.T, kinds ...string) *Order {
	t.Helper()
	o := New(1000, 0)
	for number, kind := range kinds {
		event := Event{strconv.Itoa(number), kind, int64(10 * (number + 1)), 0}
		if kind == "pay" {
			event.Cents = 1000
		}
		if err := o.Apply(event); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	return o
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		name  string
		kinds []string
		want  State
	}{
		{"created", nil, Created},
		{"paid", []string{"pay"}, Paid},
		{"delivered", []string{"pay", "pack", "ship", "deliver"}, Delivered},
		{"cancelled", []string{"cancel"}, Cancelled},
		{"cancelled after payment", []string{"pay", "cancel"}, Refunded},
		{"cancelled after packing", []string{"pay", "pack", "cancel"}, Refunded},
		{"returned", []string{"pay", "pack", "ship", "deliver", "return"}, Refunded},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := after(t, c.kinds...).State(); got != c.want {
				t.Errorf("is %q, not %q", got, c.want)
			}
		})
	}
}

func TestWhatIsNotAllowed(t *testing.T) {
	for _, c := range []struct {
		name  string
		kinds []string
		event Event
		want  error
	}{
		{"packing before payment", nil, Event{"x", "pack", 100, 0}, ErrNotAllowed},
		{"cancelling after shipping", []string{"pay", "pack", "ship"}, Event{"x", "cancel", 100, 0}, ErrNotAllowed},
		{"paying again", []string{"pay"}, Event{"x", "pay", 100, 1}, ErrNotAllowed},
		{"an unknown kind", nil, Event{"x", "steal", 100, 0}, ErrNotAllowed},
		{"nothing after the end", []string{"cancel"}, Event{"x", "pay", 100, 1000}, ErrNotAllowed},
		{"too much", nil, Event{"x", "pay", 100, 1001}, ErrAmount},
		{"nothing paid", nil, Event{"x", "pay", 100, 0}, ErrAmount},
		{"less than nothing", nil, Event{"x", "pay", 100, -5}, ErrAmount},
		{"the past", []string{"pay"}, Event{"x", "pack", 9, 0}, ErrPast},
		{"the past comes first", []string{"pay"}, Event{"x", "steal", 9, 0}, ErrPast},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := after(t, c.kinds...)
			before := o.History()
			if err := o.Apply(c.event); !errors.Is(err, c.want) {
				t.Errorf("the error is %v, not %v", err, c.want)
			}
			if !reflect.DeepEqual(o.History(), before) {
				t.Errorf("the history has changed: %v", o.History())
			}
		})
	}
}

func TestPaymentsAreSummed(t *testing.T) {
	o := New(1000, 0)
	for number, cents := range []int{400, 599, 1} {
		if o.State() != Created {
			t.Fatalf("is %q before payment %d", o.State(), number)
		}
		if err := o.Apply(Event{strconv.Itoa(number), "pay", 10, cents}); err != nil {
			t.Fatal(err)
		}
	}
	if o.State() != Paid {
		t.Errorf("is %q after all payments", o.State())
	}
}

func TestRefunds(t *testing.T) {
	o := New(1000, 0)
	if err := o.Apply(Event{"a", "pay", 10, 400}); err != nil {
		t.Fatal(err)
	}
	if o.Refund() != 0 {
		t.Errorf("refunds %d while it is open", o.Refund())
	}
	if err := o.Apply(Event{"b", "cancel", 20, 0}); err != nil {
		t.Fatal(err)
	}
	if o.State() != Refunded || o.Refund() != 400 {
		t.Errorf("is %q and refunds %d", o.State(), o.Refund())
	}
}

func TestAnEventIsAppliedOnce(t *testing.T) {
	o := New(1000, 0)
	for range 3 {
		if err := o.Apply(Event{"a", "pay", 10, 400}); err != nil {
			t.Fatal(err)
		}
	}
	if len(o.History()) != 2 {
		t.Errorf("the history has %d steps", len(o.History()))
	}
	if err := o.Apply(Event{"b", "pay", 20, 600}); err != nil {
		t.Fatal(err)
	}
	if err := o.Apply(Event{"a", "pay", 5, 400}); err != nil {
		t.Errorf("a repetition fails: %v", err)
	}
}

func TestAFailedEventCanBeRepeated(t *testing.T) {
	o := New(1000, 0)
	if err := o.Apply(Event{"a", "pack", 10, 0}); err == nil {
		t.Fatal("packed without payment")
	}
	if err := o.Apply(Event{"b", "pay", 20, 1000}); err != nil {
		t.Fatal(err)
	}
	if err := o.Apply(Event{"a", "pack", 30, 0}); err != nil || o.State() != Packed {
		t.Errorf("is %q, error %v", o.State(), err)
	}
}

func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		name string
		paid int
		at   int64
		want State
	}{
		{"before", 0, 3699, Created},
		{"at the second", 0, 3700, Cancelled},
		{"long after", 0, 99999, Cancelled},
		{"with a payment", 1, 3700, Refunded},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := New(1000, 100)
			if c.paid > 0 {
				if err := o.Apply(Event{"a", "pay", 200, c.paid}); err != nil {
					t.Fatal(err)
				}
			}
			o.Tick(c.at)
			o.Tick(c.at)
			if got := o.State(); got != c.want {
				t.Errorf("is %q, not %q", got, c.want)
			}
			if last := o.History()[len(o.History())-1]; c.want != Created && last != (Step{"expire", 3700, c.want}) {
				t.Errorf("the last step is %v", last)
			}
		})
	}
}

func TestAnEventThatComesTooLateForThePayment(t *testing.T) {
	o := New(1000, 0)
	if err := o.Apply(Event{"a", "pay", 3600, 1000}); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("the error is %v", err)
	}
	if o.State() != Cancelled {
		t.Errorf("is %q", o.State())
	}
}

func TestPaidOrdersDoNotExpire(t *testing.T) {
	o := after(t, "pay")
	o.Tick(1 << 40)
	if o.State() != Paid {
		t.Errorf("is %q", o.State())
	}
}

func TestReturns(t *testing.T) {
	for _, c := range []struct {
		name string
		at   int64
		want error
	}{
		{"on the last day", 40 + 14*day, nil},
		{"a second later", 41 + 14*day, ErrLate},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := after(t, "pay", "pack", "ship", "deliver")
			if err := o.Apply(Event{"r", "return", c.at, 0}); !errors.Is(err, c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	o := after(t, "pay", "cancel")
	want := []Step{{"create", 0, Created}, {"pay", 10, Paid}, {"cancel", 20, Refunded}}
	if !reflect.DeepEqual(o.History(), want) {
		t.Errorf("is %v", o.History())
	}
	o.History()[2].State = Created
	if o.State() != Refunded {
		t.Error("a caller has changed the order")
	}
}

func TestReplay(t *testing.T) {
	events := []Event{{"c", "pack", 30, 0}, {"a", "pay", 10, 500}, {"b", "pay", 10, 500}, {"c", "pack", 40, 0}}
	o, err := Replay(1000, 0, events)
	if err != nil || o.State() != Packed {
		t.Fatalf("error %v", err)
	}
	if events[0].ID != "c" {
		t.Error("the events were sorted in place")
	}
	o, err = Replay(1000, 0, []Event{{"b", "ship", 20, 0}, {"a", "pay", 10, 1000}})
	if !errors.Is(err, ErrNotAllowed) || o.State() != Paid {
		t.Errorf("error %v", err)
	}
}
