// Package order keeps the state of an order.
package order

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// State is where an order is.
type State string

// The states of an order.
const (
	Created   State = "created"
	Paid      State = "paid"
	Packed    State = "packed"
	Shipped   State = "shipped"
	Delivered State = "delivered"
	Cancelled State = "cancelled"
	Refunded  State = "refunded"
)

// Why an event is refused.
var (
	ErrPast       = errors.New("the event is in the past")
	ErrAmount     = errors.New("the amount is wrong")
	ErrLate       = errors.New("the event is too late")
	ErrNotAllowed = errors.New("the event is not allowed in this state")
)

// Event is what happens to an order: pay, cancel, pack, ship, deliver or return.
type Event struct {
	ID    string
	Kind  string
	At    int64
	Cents int
}

// Step is an entry of the history: what happened, when, and the state since then.
type Step struct {
	Kind  string
	At    int64
	State State
}

const (
	payable    = 3600
	returnable = 14 * 24 * 3600
)

type place struct {
	state State
	kind  string
}

var table = map[place]State{
	{Paid, "pack"}:       Packed,
	{Paid, "cancel"}:     Refunded,
	{Packed, "cancel"}:   Refunded,
	{Packed, "ship"}:     Shipped,
	{Shipped, "deliver"}: Delivered,
	{Delivered, "return"}: Refunded,
}

// Order is an order.
type Order struct {
	total int
	paid  int
	steps []Step
	seen  map[string]bool
}

// New returns an order of that total, created at that time.
func New(total int, at int64) *Order {
	return &Order{total: total, steps: []Step{{"create", at, Created}}, seen: map[string]bool{}}
}

func (o *Order) last() Step { return o.steps[len(o.steps)-1] }

// State returns the present state.
func (o *Order) State() State { return o.last().State }

// Refund returns how much is to be paid back.
func (o *Order) Refund() int {
	if o.State() != Refunded {
		return 0
	}
	return o.paid
}

// History returns the steps so far.
func (o *Order) History() []Step { return slices.Clone(o.steps) }

// Tick lets the time go on.
func (o *Order) Tick(at int64) {
	end := o.steps[0].At + payable
	if o.State() == Created && at >= end {
		o.steps = append(o.steps, Step{"expire", end, o.unpaid()})
	}
}

func (o *Order) unpaid() State {
	if o.paid > 0 {
		return Refunded
	}
	return Cancelled
}

// Apply applies an event.
func (o *Order) Apply(event Event) error {
	if o.seen[event.ID] {
		return nil
	}
	o.Tick(event.At)
	next, err := o.next(event)
	if err != nil {
		return fmt.Errorf("%s %s: %w", event.Kind, event.ID, err)
	}
	if event.Kind == "pay" {
		o.paid += event.Cents
	}
	o.seen[event.ID] = true
	o.steps = append(o.steps, Step{event.Kind, event.At, next})
	return nil
}

func (o *Order) next(event Event) (State, error) {
	last := o.last()
	if event.At < last.At {
		return "", ErrPast
	}
	if last.State == Created && event.Kind == "pay" {
		switch {
		case event.Cents <= 0 || o.paid+event.Cents > o.total:
			return "", ErrAmount
		case o.paid+event.Cents == o.total:
			return Paid, nil
		}
		return Created, nil
	}
	if last.State == Created && event.Kind == "cancel" {
		return o.unpaid(), nil
	}
	next, found := table[place{last.State, event.Kind}]
	if !found {
		return "", ErrNotAllowed
	}
	if event.Kind == "return" && event.At > last.At+returnable {
		return "", ErrLate
	}
	return next, nil
}

// Replay makes an order of its events.
func Replay(total int, at int64, events []Event) (*Order, error) {
	sorted := slices.Clone(events)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].At < sorted[j].At })
	order := New(total, at)
	for _, event := range sorted {
		if err := order.Apply(event); err != nil {
			return order, err
		}
	}
	return order, nil
}
