// Loaded by Node in each process that vitest starts, before anything of the repository.
(() => {
  const fs = process.getBuiltinModule('node:fs');
  const { appendFileSync } = fs;
  process.env.NODE_OPTIONS = (process.env.NODE_OPTIONS ?? '').replace(`--require=${__filename}`, '').trim();
  if (!process.env.NODE_OPTIONS) delete process.env.NODE_OPTIONS;
  const receipts = `${__dirname}/receipts`;
  const settings = JSON.parse(fs.readFileSync(`${__dirname}/instruments.json`, 'utf8'));
  instrument(settings, (token) => appendFileSync(receipts, `${token}\n`));
})();
