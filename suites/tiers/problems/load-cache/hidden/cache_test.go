package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// source loads values; a load of a key that has a gate waits until it is opened.
type source struct {
	mutex sync.Mutex
	now   time.Time
	count map[string]int
	gates map[string]chan struct{}
	errs  map[string]error
	begun chan string
	*Cache
}

func make10(most int) *source {
	s := &source{
		now: time.Unix(1000, 0), count: map[string]int{}, gates: map[string]chan struct{}{},
		errs: map[string]error{}, begun: make(chan string, 100),
	}
	now := func() time.Time {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.now
	}
	s.Cache = New(s.load, Options{Fresh: 10 * time.Second, Stale: 5 * time.Second, Most: most, Now: now})
	return s
}

func (s *source) load(ctx context.Context, key string) (string, error) {
	s.mutex.Lock()
	s.count[key]++
	number, gate, err := s.count[key], s.gates[key], s.errs[key]
	s.mutex.Unlock()
	s.begun <- key
	if gate != nil {
		<-gate
	}
	if key == "panic" {
		panic("no")
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s%d", key, number), nil
}

func (s *source) wait(seconds int) {
	s.mutex.Lock()
	s.now = s.now.Add(time.Duration(seconds) * time.Second)
	s.mutex.Unlock()
}

func (s *source) fails(key string, err error) {
	s.mutex.Lock()
	s.errs[key] = err
	s.mutex.Unlock()
}

func (s *source) close(key string) func() {
	gate := make(chan struct{})
	s.mutex.Lock()
	s.gates[key] = gate
	s.mutex.Unlock()
	return func() {
		s.mutex.Lock()
		delete(s.gates, key)
		s.mutex.Unlock()
		close(gate)
	}
}

func (s *source) want(t *testing.T, key, want string) {
	t.Helper()
	if got, err := s.Get(context.Background(), key); err != nil || got != want {
		t.Fatalf("%s is %q with error %v, not %q", key, got, err, want)
	}
}

// eventually waits for what a load in the background brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 2000 {
		if holds() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

func (s *source) loads(key string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.count[key]
}

func (s *source) idle() bool {
	for range 20 {
		time.Sleep(time.Millisecond)
	}
	return true
}

func TestAValueIsLoadedOnce(t *testing.T) {
	s := make10(0)
	s.want(t, "a", "a1")
	s.want(t, "a", "a1")
	s.want(t, "b", "b1")
	if s.Len() != 2 {
		t.Errorf("%d values are kept", s.Len())
	}
}

func TestAges(t *testing.T) {
	for _, c := range []struct {
		name    string
		seconds int
		want    string
		loads   int
		length  int
	}{
		{"fresh", 9, "a1", 1, 1},
		{"just stale", 10, "a1", 2, 1},
		{"still stale", 14, "a1", 2, 1},
		{"gone", 15, "a2", 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := make10(0)
			s.want(t, "a", "a1")
			s.wait(c.seconds)
			if s.Len() != c.length {
				t.Errorf("%d values are kept", s.Len())
			}
			s.want(t, "a", c.want)
			eventually(t, "the loads", func() bool { return s.loads("a") == c.loads })
		})
	}
}

func TestAStaleValueIsReplaced(t *testing.T) {
	s := make10(0)
	s.want(t, "a", "a1")
	s.wait(10)
	s.want(t, "a", "a1")
	eventually(t, "the new value", func() bool {
		got, _ := s.Get(context.Background(), "a")
		return got == "a2"
	})
	s.wait(9)
	s.want(t, "a", "a2")
	if s.loads("a") != 2 {
		t.Errorf("%d loads", s.loads("a"))
	}
}

func TestOneLoadInTheBackground(t *testing.T) {
	s := make10(0)
	s.want(t, "a", "a1")
	s.wait(12)
	open := s.close("a")
	for range 5 {
		s.want(t, "a", "a1")
	}
	<-s.begun
	<-s.begun
	s.idle()
	open()
	if s.loads("a") != 2 {
		t.Errorf("%d loads", s.loads("a"))
	}
}

func TestAFailedLoadInTheBackgroundIsRepeated(t *testing.T) {
	s := make10(0)
	s.want(t, "a", "a1")
	s.wait(12)
	s.fails("a", errors.New("down"))
	s.want(t, "a", "a1")
	eventually(t, "a second load in the background", func() bool {
		s.want(t, "a", "a1")
		return s.loads("a") >= 3
	})
	s.fails("a", nil)
	eventually(t, "a new value", func() bool {
		got, err := s.Get(context.Background(), "a")
		return err == nil && got != "a1"
	})
}

func TestManyWaitForOneLoad(t *testing.T) {
	s := make10(0)
	open := s.close("a")
	answers := make(chan string, 20)
	for range 20 {
		go func() {
			got, _ := s.Get(context.Background(), "a")
			answers <- got
		}()
	}
	<-s.begun
	s.idle()
	open()
	for range 20 {
		if got := <-answers; got != "a1" {
			t.Errorf("one got %q", got)
		}
	}
	if s.loads("a") != 1 {
		t.Errorf("%d loads", s.loads("a"))
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	s := make10(0)
	down := errors.New("down")
	s.fails("a", down)
	if _, err := s.Get(context.Background(), "a"); !errors.Is(err, down) {
		t.Errorf("the error is %v", err)
	}
	s.fails("a", nil)
	s.want(t, "a", "a2")
}

func TestACallerStopsWaiting(t *testing.T) {
	s := make10(0)
	open := s.close("a")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		_, err := s.Get(ctx, "a")
		ended <- err
	}()
	<-s.begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	open()
	eventually(t, "the value is kept", func() bool { return s.Len() == 1 })
	s.want(t, "a", "a1")
}

func TestAPanic(t *testing.T) {
	s := make10(0)
	for range 2 {
		if _, err := s.Get(context.Background(), "panic"); !errors.Is(err, ErrPanic) {
			t.Errorf("the error is %v", err)
		}
	}
	s.want(t, "a", "a1")
}

func TestTheLongestUnusedGoes(t *testing.T) {
	s := make10(2)
	s.want(t, "a", "a1")
	s.want(t, "b", "b1")
	s.want(t, "a", "a1")
	s.want(t, "c", "c1")
	if s.Len() != 2 {
		t.Errorf("%d values are kept", s.Len())
	}
	s.want(t, "a", "a1")
	s.want(t, "b", "b2")
	s.want(t, "c", "c2")
}

func TestForget(t *testing.T) {
	s := make10(0)
	s.want(t, "a", "a1")
	s.Forget("a")
	s.Forget("none")
	if s.Len() != 0 {
		t.Errorf("%d values are kept", s.Len())
	}
	s.want(t, "a", "a2")
}

func TestForgetDuringALoad(t *testing.T) {
	s := make10(0)
	open := s.close("a")
	answer := make(chan string)
	go func() {
		got, _ := s.Get(context.Background(), "a")
		answer <- got
	}()
	<-s.begun
	s.Forget("a")
	open()
	if got := <-answer; got != "a1" {
		t.Errorf("the waiting one got %q", got)
	}
	if s.Len() != 0 {
		t.Errorf("%d values are kept", s.Len())
	}
	s.want(t, "a", "a2")
}

func TestTheAgeCountsFromTheEndOfTheLoad(t *testing.T) {
	s := make10(0)
	open := s.close("a")
	answer := make(chan string)
	go func() {
		got, _ := s.Get(context.Background(), "a")
		answer <- got
	}()
	<-s.begun
	s.wait(100)
	open()
	<-answer
	s.wait(9)
	s.want(t, "a", "a1")
	if s.loads("a") != 1 {
		t.Errorf("%d loads", s.loads("a"))
	}
}

func TestOtherKeysDoNotWait(t *testing.T) {
	s := make10(0)
	open := s.close("slow")
	answer := make(chan string)
	go func() {
		got, _ := s.Get(context.Background(), "slow")
		answer <- got
	}()
	<-s.begun
	s.want(t, "a", "a1")
	open()
	if got := <-answer; got != "slow1" {
		t.Errorf("got %q", got)
	}
}
