// Package order keeps the state of an order.
package order

import "errors"

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

// Order is an order.
type Order struct{}

// New returns an order of that total, created at that time.
func New(total int, at int64) *Order { return &Order{} }

// State returns the present state.
func (o *Order) State() State { return "" }

// Refund returns how much is to be paid back.
func (o *Order) Refund() int { return 0 }

// History returns the steps so far.
func (o *Order) History() []Step { return nil }

// Tick lets the time go on.
func (o *Order) Tick(at int64) {}

// Apply applies an event.
func (o *Order) Apply(event Event) error { return errors.New("not implemented") }

// Replay makes an order of its events.
func Replay(total int, at int64, events []Event) (*Order, error) {
	return nil, errors.New("not implemented")
}
