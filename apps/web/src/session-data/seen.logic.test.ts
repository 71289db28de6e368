import { describe, expect, it } from 'vitest'
import { isUnread, type Seen, withSeen } from './seen.logic.ts'

const session = { id: 'a', createdAt: 50, updatedAt: 100, status: 'idle' as const }

describe('unread sessions', () => {
  it('are those that changed after they were last seen', () => {
    const seen: Seen = { since: 0, at: { a: 100 } }
    expect(isUnread(session, seen)).toBe(false)
    expect(isUnread({ ...session, updatedAt: 101 }, seen)).toBe(true)
  })

  it("are neither those from before the browser's first visit nor those that are working", () => {
    expect(isUnread(session, { since: 150, at: {} })).toBe(false)
    expect(isUnread({ ...session, status: 'working' }, { since: 0, at: {} })).toBe(false)
  })

  it('are not those that have not changed since they were created', () => {
    expect(isUnread({ ...session, createdAt: 100 }, { since: 0, at: {} })).toBe(false)
  })

  it('are derived from times that only grow, for a limited number of sessions', () => {
    const seen: Seen = { since: 0, at: { a: 100 } }
    expect(withSeen(seen, 'a', 90)).toBe(seen)
    let many = seen
    for (let index = 0; index < 600; index++) many = withSeen(many, `s${index}`, 1000 + index)
    expect(Object.keys(many.at)).toHaveLength(500)
    expect(many.at.a).toBeUndefined()
  })
})
