"""A package of Go's, tested with its own framework."""

SOURCE = "shop.go"

BUG = """\
package shop

import (
	"errors"
	"fmt"
)

// ErrRange is a discount that is none.
var ErrRange = errors.New("not between 0 and 1")

// Total is the sum of prices, less a discount.
func Total(prices []int, discount float64) (float64, error) {
	sum := 0
	for _, price := range prices[min(1, len(prices)):] {
		sum += price
	}
	return float64(sum) * (1 - discount), nil
}

// Label is an amount as people read it.
func Label(amount float64) string {
	return fmt.Sprintf("%.1f EUR", amount)
}
"""

FIX = BUG.replace("prices[min(1, len(prices)):]", "prices").replace("%.1f", "%.2f").replace(
    "	sum := 0\n", "	if discount < 0 || discount > 1 {\n		return 0, ErrRange\n	}\n	sum := 0\n"
)  # fmt: skip

BASE = {
    "go.mod": "module example.com/shop\n\ngo 1.21\n",
    "shop_test.go": """\
package shop

import "testing"

func TestNothing(t *testing.T) {
	if got, _ := Total(nil, 0); got != 0 {
		t.Errorf("got %v", got)
	}
}
""",
}

HIDDEN = {
    "shop_test.go": """\
package shop

import (
	"errors"
	"testing"
)

func TestNothing(t *testing.T) {
	if got, _ := Total(nil, 0); got != 0 {
		t.Errorf("got %v", got)
	}
}

func TestTotal(t *testing.T) {
	got, err := Total([]int{4, 5}, 0)
	if err != nil || got != 9 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestLabel(t *testing.T) {
	cases := []struct {
		amount float64
		want   string
	}{
		{3, "3.00 EUR"},
		{12.5, "12.50 EUR"},
	}
	for _, tc := range cases {
		if got := Label(tc.amount); got != tc.want {
			t.Errorf("Label(%v) = %q, want %q", tc.amount, got, tc.want)
		}
	}
}

func TestRange(t *testing.T) {
	if _, err := Total([]int{1}, 2); !errors.Is(err, ErrRange) {
		t.Fatalf("got %v", err)
	}
}
""",
}

FAIL_TO_PASS = tuple(f"shop_test.go::Test{name}" for name in ("Total", "Label", "Range"))
PASS_TO_PASS = ("shop_test.go::TestNothing",)
