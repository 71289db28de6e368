import { describe, expect, it } from 'vitest'
import { addressOf, type Route, routeOf } from './route.logic.ts'

const at = (address: string) => {
  const { pathname, hash, search } = new URL(address, 'http://parley.test')
  return routeOf({ pathname, hash, search })
}

describe('addresses', () => {
  const routes: Route[] = [
    { name: 'home' },
    { name: 'new' },
    { name: 'inbox' },
    { name: 'import' },
    { name: 'nowhere' },
    { name: 'settings' },
    { name: 'settings', section: 'permissions' },
    { name: 'round', id: 'rnd_1' },
    { name: 'round', id: 'rnd_1', attempt: 2 },
    { name: 'round', id: 'rnd_1', attempt: 2, against: 1 },
    { name: 'session', id: 'ses_1' },
    { name: 'session', id: 'a/b c', seq: 12 },
    { name: 'session', id: 'ses_1', file: 'src/größe & co?#%.ts' },
    { name: 'session', id: 'ses_1', file: 'two\nlines', line: 12 },
    { name: 'session', id: 'ses_1', file: 'a.ts', seq: 3 },
  ]
  it.each(routes)('are parsed back into the route they were made from: %j', (route) => {
    expect(at(addressOf(route))).toEqual(route)
  })

  it('that are unknown give the route "nowhere"', () => {
    expect(at('/what/is/this')).toEqual({ name: 'nowhere' })
    expect(at('/settings/nothing')).toEqual({ name: 'nowhere' })
  })

  it('are accepted with an invalid hash or escape', () => {
    expect(at('/sessions/x#L12')).toEqual({ name: 'session', id: 'x' })
    expect(at('/sessions/x?file=a#L0')).toEqual({ name: 'session', id: 'x', file: 'a' })
    expect(at('/sessions/x#e12x')).toEqual({ name: 'session', id: 'x' })
    expect(routeOf({ pathname: '/sessions/%zz', hash: '' })).toEqual({ name: 'session', id: '%zz' })
  })
})
