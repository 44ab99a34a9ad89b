import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Routes } from '../routes.js';

const get = (name, path, where) => ({ name, method: 'GET', path, ...(where && { where }) });
const table = [
  get('home', '/'),
  get('posts', '/posts/:page?', { page: /\d+/ }),
  get('post', '/posts/:id'),
  get('new', '/posts/new'),
  { name: 'edit', method: 'PUT', path: '/posts/:id' },
  { name: 'remove', method: 'DELETE', path: '/posts/:id' },
  get('file', '/files/*path'),
  get('readme', '/files/readme'),
];
const routes = () => new Routes(table);
const found = (address, method = 'GET') => {
  const { status, name, params } = routes().find(method, address);
  return status === 200 ? [name, params] : status;
};
const query = (text) => Object.entries(routes().find('GET', `/?${text}`).query);

test('paths', () => {
  assert.deepEqual(found('/'), ['home', {}]);
  assert.deepEqual(found('/posts/hello'), ['post', { id: 'hello' }]);
  assert.deepEqual(found('/files/a/b.txt'), ['file', { path: 'a/b.txt' }]);
});

test('what there is not', () => {
  for (const address of ['/other', '/posts/1/2', '/files', '/Posts']) assert.equal(found(address), 404);
});

test('a text is better than a parameter', () => {
  assert.deepEqual(found('/posts/new'), ['new', {}]);
  assert.deepEqual(found('/files/readme'), ['readme', {}]);
});

test('a checked parameter is better than another', () => {
  assert.deepEqual(found('/posts/12'), ['posts', { page: '12' }]);
  assert.deepEqual(found('/posts/12a'), ['post', { id: '12a' }]);
});

test('optional parts', () => {
  assert.deepEqual(found('/posts'), ['posts', {}]);
  const both = new Routes([get('open', '/a/:b?'), get('end', '/a')]);
  assert.equal(both.find('GET', '/a').name, 'end');
});

test('parts decide from the left', () => {
  const both = new Routes([get('one', '/:a/x'), get('two', '/b/:c'), get('three', '/b/*d'), get('four', '/:a/:c')]);
  assert.deepEqual(['/b/x', '/c/x', '/b/y', '/c/y', '/b/y/z'].map((address) => both.find('GET', address).name), ['two', 'one', 'two', 'four', 'three']);
});

test('the first of equal routes is taken', () => {
  const both = new Routes([get('one', '/:a'), get('two', '/:b')]);
  assert.equal(both.find('GET', '/x').name, 'one');
});

test('slashes', () => {
  assert.deepEqual(found('/posts/'), ['posts', {}]);
  assert.deepEqual(found('/files/a/'), ['file', { path: 'a' }]);
  for (const address of ['//', '/posts//', '/files/a//b']) assert.equal(found(address), 404);
});

test('parts are decoded after they were split', () => {
  assert.deepEqual(found('/posts/a%2Fb%20c'), ['post', { id: 'a/b c' }]);
  assert.deepEqual(found('/posts/n%65w'), ['new', {}]);
  for (const address of ['/posts/%', '/posts/%zz', '/posts/%ff']) assert.equal(found(address), 400);
});

test('methods', () => {
  assert.deepEqual(found('/posts/x', 'PUT'), ['edit', { id: 'x' }]);
  assert.deepEqual(routes().find('POST', '/posts/x'), { status: 405, allow: ['DELETE', 'GET', 'HEAD', 'PUT'] });
  assert.deepEqual(routes().find('GET', '/nothing'), { status: 404 });
});

test('HEAD', () => {
  assert.deepEqual(found('/posts/x', 'HEAD'), ['post', { id: 'x' }]);
  const own = new Routes([get('get', '/a'), { name: 'head', method: 'HEAD', path: '/a' }, { name: 'put', method: 'PUT', path: '/b' }]);
  assert.equal(own.find('HEAD', '/a').name, 'head');
  assert.deepEqual(own.find('HEAD', '/b'), { status: 405, allow: ['PUT'] });
});

test('queries', () => {
  assert.deepEqual(query('a=1&b=x+y%26'), [['a', '1'], ['b', 'x y&']]);
  assert.deepEqual(query('a=1&b=2&a=3&a='), [['a', ['1', '3', '']], ['b', '2']]);
});

test('odd queries', () => {
  assert.deepEqual(query('a&&b=c=d&=e'), [['a', ''], ['b', 'c=d'], ['', 'e']]);
  assert.deepEqual(query('a=%zz+1'), [['a', '%zz 1']]);
  assert.deepEqual(query(''), []);
});

test('names of the prototype are keys like others', () => {
  assert.deepEqual(query('__proto__=1&constructor=2'), [['__proto__', '1'], ['constructor', '2']]);
});

test('addresses', () => {
  assert.equal(routes().address('home'), '/');
  assert.equal(routes().address('post', { id: 'a/b c' }), '/posts/a%2Fb%20c');
  assert.equal(routes().address('posts'), '/posts');
  assert.equal(routes().address('posts', { page: 3 }), '/posts/3');
  assert.equal(routes().address('file', { path: 'a b/c' }), '/files/a%20b/c');
});

test('addresses with a query', () => {
  assert.equal(routes().address('home', {}, { q: 'a&b', tag: ['x', 'y'], none: undefined, n: 0 }), '/?q=a%26b&tag=x&tag=y&n=0');
});

test('addresses that cannot be made', () => {
  const wrong = [['none', {}], ['post', {}], ['post', { id: '' }], ['post', { id: 'x', more: 1 }], ['posts', { page: 'x' }], ['file', { path: 'a//b' }]];
  for (const [name, params] of wrong) assert.throws(() => routes().address(name, params), RangeError);
});

test('tables are checked', () => {
  for (const path of ['', 'a', '/a//b', '/a/', '/:a?/b', '/*a/b', '/:a/:a', '/:', '/*a?']) {
    assert.throws(() => new Routes([get('x', path)]), RangeError);
  }
  assert.throws(() => new Routes([get('x', '/a'), get('x', '/b')]), RangeError);
  assert.throws(() => new Routes([get('x', '/:a', { b: /x/ })]), RangeError);
});
