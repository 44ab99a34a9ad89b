// Package cache keeps values that are expensive to load.
package cache

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrPanic is what a load that panics ends with.
var ErrPanic = errors.New("the load panicked")

// Options say how long and how many values are kept.
type Options struct {
	Fresh time.Duration
	Stale time.Duration
	Most  int
	Now   func() time.Time
}

type entry struct {
	key, value string
	loaded     time.Time
}

type call struct {
	done      chan struct{}
	value     string
	err       error
	forgotten bool
}

// Cache keeps values by their keys.
type Cache struct {
	load    func(ctx context.Context, key string) (string, error)
	options Options

	mutex  sync.Mutex
	recent *list.List // of *entry, the one that was asked for last in front
	places map[string]*list.Element
	calls  map[string]*call
}

// New returns an empty cache.
func New(load func(ctx context.Context, key string) (string, error), options Options) *Cache {
	return &Cache{
		load: load, options: options, recent: list.New(),
		places: map[string]*list.Element{}, calls: map[string]*call{},
	}
}

// Get returns the value of a key.
func (c *Cache) Get(ctx context.Context, key string) (string, error) {
	c.mutex.Lock()
	if place, found := c.places[key]; found {
		kept := place.Value.(*entry)
		age := c.options.Now().Sub(kept.loaded)
		if age < c.options.Fresh+c.options.Stale {
			c.recent.MoveToFront(place)
			if age >= c.options.Fresh {
				c.begin(ctx, key)
			}
			c.mutex.Unlock()
			return kept.value, nil
		}
		c.remove(place)
	}
	waiting := c.begin(ctx, key)
	c.mutex.Unlock()
	select {
	case <-waiting.done:
		return waiting.value, waiting.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// begin returns the load of a key that is under way, a new one if there is none; the mutex is held.
func (c *Cache) begin(ctx context.Context, key string) *call {
	if found, ok := c.calls[key]; ok {
		return found
	}
	begun := &call{done: make(chan struct{})}
	c.calls[key] = begun
	go c.run(context.WithoutCancel(ctx), key, begun)
	return begun
}

func (c *Cache) run(ctx context.Context, key string, begun *call) {
	value, err := c.loaded(ctx, key)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	begun.value, begun.err = value, err
	if !begun.forgotten {
		delete(c.calls, key)
		if err == nil {
			c.keep(key, value)
		}
	}
	close(begun.done)
}

func (c *Cache) loaded(ctx context.Context, key string) (value string, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			value, err = "", fmt.Errorf("%w: %v", ErrPanic, reason)
		}
	}()
	return c.load(ctx, key)
}

func (c *Cache) keep(key, value string) {
	fresh := &entry{key, value, c.options.Now()}
	if place, found := c.places[key]; found {
		place.Value = fresh
		return
	}
	c.places[key] = c.recent.PushFront(fresh)
	for c.options.Most > 0 && c.recent.Len() > c.options.Most {
		c.remove(c.recent.Back())
	}
}

func (c *Cache) remove(place *list.Element) {
	delete(c.places, place.Value.(*entry).key)
	c.recent.Remove(place)
}

// Forget removes the value of a key.
func (c *Cache) Forget(key string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if place, found := c.places[key]; found {
		c.remove(place)
	}
	if begun, found := c.calls[key]; found {
		begun.forgotten = true
		delete(c.calls, key)
	}
}

// Len returns how many values are kept.
func (c *Cache) Len() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	count, now := 0, c.options.Now()
	for place := c.recent.Front(); place != nil; place = place.Next() {
		if now.Sub(place.Value.(*entry).loaded) < c.options.Fresh+c.options.Stale {
			count++
		}
	}
	return count
}
