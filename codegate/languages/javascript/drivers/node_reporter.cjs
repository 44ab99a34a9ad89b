// Loaded by Node before the tests, and by node:test as its reporter: one module, so both know the channel. Its events
// come in the order of the file: a test's start opens its place among the titles.
module.exports = async function* reporter(source) {
  if (!settings) return;
  const titles = [];
  let ended = false;
  for await (const { type, data } of source) {
    if (type === 'test:start') {
      titles.length = data.nesting;
      titles[data.nesting] = data.name;
    } else if (type === 'test:pass' || type === 'test:fail') {
      const error = data.details?.error;
      const reason = error?.cause ?? error;
      const path = [...titles.slice(0, data.nesting), data.name];
      const failed = type === 'test:fail' && data.todo === undefined;
      if (data.details?.type === 'suite') {
        if (failed && error?.failureType === 'hookFailed') report(settings.file, [...path, '(hooks)'], 'failed', 0, explain(reason), reason?.stack ?? reason);
        continue;
      }
      let outcome = type === 'test:pass' ? 'passed' : 'failed';
      if (data.skip !== undefined && data.skip !== false) outcome = 'skipped';
      else if (data.todo !== undefined && data.todo !== false) outcome = 'xfail';
      const crash = outcome === 'failed' ? explain(typeof reason === 'object' ? reason : error) : null;
      report(settings.file, path, outcome, data.details?.duration_ms, crash, reason?.stack ?? reason);
    } else if (type === 'test:plan' && data.nesting === 0) {
      ended = true; // of all tests; Node 20 may leave before the stream ends
      finished();
    }
  }
  if (!ended) finished();
};
