// The reporters' common part, put in front of each: nothing of it is exported, so a test that gets hold of a reporter
// still has no way to speak in its name. What it needs is looked up once: tests replace functions while they run.
const fs = process.getBuiltinModule('node:fs');
const channel = (() => {
  const { readFileSync, writeSync, closeSync } = fs;
  const { stringify, parse } = JSON;
  const { keys, setPrototypeOf } = Object;
  const { byteLength, from } = Buffer;
  const given = process.env.CODEGATE_CHANNEL;
  delete process.env.CODEGATE_CHANNEL; // a process that the tests start is no reporter
  if (!given) return { settings: null, send() {} };
  const [told, hear] = given.split(',').map(Number);
  const { token, ...settings } = parse(readFileSync(told, 'utf8'));
  closeSync(told);
  const bare = (value) => {
    // Without a prototype there is no toJSON that somebody else wrote.
    if (typeof value !== 'object' || value === null) return value;
    const names = keys(value);
    for (let index = 0; index < names.length; index += 1) value[names[index]] = bare(value[names[index]]);
    return setPrototypeOf(value, null);
  };
  const send = (record) => {
    const text = `${token} ${stringify(bare(record))}\n`; // unlike a buffer, it has no method that a test could replace
    let rest = text;
    for (let left = byteLength(text); left > 0; ) {
      try {
        const written = writeSync(hear, rest);
        left -= written;
        if (left > 0) rest = from(rest).subarray(written);
      } catch (error) {
        if (error.code !== 'EAGAIN') throw error;
      }
    }
  };
  return { settings, send };
})();
const settings = channel.settings;
let left = []; // marks, until the next test is reported
if (settings?.copies) takeMarks(settings.copies.mark, (token) => void (left[left.length] = token));
const workspace = settings?.workspace ?? process.cwd();
const exists = fs.existsSync;
const say = console.log;
const ERRNO = { ENOENT: 2, EACCES: 13, EPERM: 1, EROFS: 30, ECONNREFUSED: 111, ENETUNREACH: 101, EHOSTUNREACH: 113 };

const plain = (value, limit) => {
  let text;
  try {
    text = String(value ?? '');
  } catch {
    text = '<no text>';
  }
  // eslint-disable-next-line no-control-regex
  return text.slice(0, 4 * limit).replace(/\u001b\[[0-9;]*m/g, '').slice(0, limit).toWellFormed();
};

/** Return the facts about an error that its failure class follows from. */
const explain = (error, name, message) => {
  const get = (key) => {
    try {
      return error?.[key];
    } catch {
      return undefined;
    }
  };
  const code = get('code');
  let said = plain(message ?? (error && typeof error === 'object' ? get('message') : error), 4000);
  let kind = plain(name ?? get('name') ?? typeof error, 300) || 'Error';
  const unparsed = /^Transform failed with \d+ errors?:\n([^]+)/.exec(said)?.[1]; // of esbuild, whose other fields vitest loses
  if (unparsed) [kind, said] = ['SyntaxError', unparsed.replaceAll(`${workspace}/`, '')];
  if (get('matcherResult') || /^expect\(|JestAssertionError/.test(kind + said) || code === 'ERR_ASSERTION') kind = 'AssertionError';
  const parents = [];
  if (/Assert/.test(kind)) parents.push('AssertionError');
  if (kind === 'SyntaxError') parents.push('SyntaxError');
  if (code === 'EACCES' || code === 'EPERM') parents.push('PermissionError');
  if (/^(ERR_MOCHA_TIMEOUT|ETIMEDOUT)$/.test(code) || /^(Exceeded timeout|Timeout of \d+ms exceeded|thrown: "Exceeded timeout|Test timed out|test timed out)/.test(said)) {
    parents.push('TimeoutError');
  }
  const causes = [kind];
  if (/^(ENOTFOUND|EAI_AGAIN)$/.test(code)) causes.push('socket.gaierror');
  const absent = /Cannot find (?:module|package) '([^'\n]{1,300})'/.exec(said)?.[1];
  let dependency = null;
  if (absent && !/^[./#]|^file:/.test(absent)) {
    const top = absent.split('/').slice(0, absent.startsWith('@') ? 2 : 1).join('/');
    if (!exists(`${workspace}/${top}`)) dependency = top;
  }
  return { exception: kind, message: said, parents, causes, errno: ERRNO[code] ?? null, dependency };
};

// Copies and the tests themselves are alike here: the code under test may read everything that this process has.
const isVariant = (titles) => {
  const words = settings.copies?.variants ?? [];
  return titles.some((title) => words.some((word) => title.includes(`_${word}`)));
};

let last = null;
/** Report one test: its file, the titles that lead to it, its outcome, its seconds, what failed it and its text. */
const report = (file, titles, outcome, milliseconds, crash, text, when = 'call') => {
  const path = plain(file, 4096).replace(`${workspace}/`, '');
  const names = titles.map((title) => plain(title, 2000));
  const seconds = Number.isFinite(milliseconds) && milliseconds > 0 ? milliseconds / 1000 : 0;
  const id = `${path}::${names.join(' > ')}`;
  const shown = outcome === 'failed' ? `FAILED ${plain(names.join(' > '), 500)}\n${plain(text, 3000)}` : '';
  const variant = isVariant(names);
  last = { kind: 'phase', id, when, outcome, seconds, markers: [], crash: crash ?? null, receipts: left };
  channel.send({ ...last, text: variant ? shown : '' });
  if (shown && !variant) say(shown); // who reads the output is shown the real ones
  left = [];
};
const broken = (file, text, crash) => {
  const id = plain(file, 4096).replace(`${workspace}/`, '');
  channel.send({ kind: 'collection_error', id, text: plain(text, 2000), crash });
};
/** Report that an error belongs to no test. */
const uncaught = () => channel.send({ kind: 'uncaught' });
const finished = () => {
  if (left.length && last) channel.send({ ...last, seconds: 0, receipts: left, text: '' }); // left since its report
  channel.send({ kind: 'finished' });
};
