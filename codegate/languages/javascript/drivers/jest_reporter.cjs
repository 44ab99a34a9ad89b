// Loaded by Node before jest, and by jest as its reporter: one module, so both know the channel.
const STATUS = { passed: 'passed', failed: 'failed' };

module.exports = class {
  onTestResult(test, result) {
    if (!settings) return;
    const file = test.path;
    if (result.testExecError) {
      const error = result.testExecError;
      const text = result.failureMessage ?? error.stack ?? error.message;
      const first = /([A-Z]\w*Error)\b: ?([^\n]*)/.exec(plain(`${error.type ?? ''} ${error.stack ?? text}`, 4000));
      broken(file, text, explain(error, first?.[1], first?.[2] ?? error.message));
      say(plain(text, 4000));
    }
    for (const found of result.testResults) {
      const outcome = STATUS[found.status] ?? 'skipped';
      const crash = outcome === 'failed' ? this.crash(found) : null;
      report(file, [...found.ancestorTitles, found.title], outcome, found.duration, crash, found.failureMessages[0]);
    }
  }

  crash(found) {
    const detail = [].concat(found.failureDetails?.[0]).find((one) => one && typeof one === 'object') ?? {};
    const text = plain(found.failureMessages[0], 8000);
    const first = /^(?:([A-Z]\w*(?:Error|Exception))(?: \[\w+\])?: ?)?([^]*?)(?=\n\s+at |$)/.exec(text);
    const assertion = detail.matcherResult || /^(expect|assert)[.(]/.test(first[2]);
    return explain(detail, assertion ? 'AssertionError' : first[1] ?? 'Error', first[2]);
  }

  onRunComplete() {
    if (settings) finished();
  }
};
