/** The routes of an application. */
export class Routes {
  constructor(table) {
    throw new Error('not implemented');
  }

  find(method, address) {
    throw new Error('not implemented');
  }

  address(name, params = {}, query = {}) {
    throw new Error('not implemented');
  }
}
