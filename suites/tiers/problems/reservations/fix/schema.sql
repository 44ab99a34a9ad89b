-- The tables of the stock; run whenever the file is opened.
CREATE TABLE IF NOT EXISTS orders (
    name TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'confirmed', 'ended')),
    ends INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS lines (
    order_name TEXT NOT NULL REFERENCES orders (name),
    item TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (order_name, item)
);
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    order_name TEXT,
    count INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS events_of_item ON events (item, id);
CREATE INDEX IF NOT EXISTS reserved ON orders (ends) WHERE state = 'reserved';
