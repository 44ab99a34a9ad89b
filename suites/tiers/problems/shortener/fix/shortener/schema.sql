-- The tables of the link shortener; run each time that a server is made.
CREATE TABLE IF NOT EXISTS links (
    code TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    visits INTEGER NOT NULL DEFAULT 0,
    expires INTEGER
);
