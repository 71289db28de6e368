import { mkdirSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { allScopes, defined, type Limits, type Scope } from '@parley/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { folderForFile } from '../testing/temporary-folder.ts'
import { checkFolder } from '../workspace/folder.ts'
import {
  expectGrantable,
  permitsFolder,
  permitsSession,
  type Rights,
  type SessionFacts,
} from './principal.ts'

/** Names that share a prefix or are special in paths. A comparison of plain texts would confuse them. */
const segment = fc.constantFrom('a', 'ab', 'a b', 'A', '..', '.', 'a.', 'é')
const realSegment = fc.constantFrom('a', 'ab', 'a b', 'A', 'a.', 'é')
const realFolder = fc.array(realSegment, { maxLength: 4 }).map((names) => `/${names.join('/')}`)
const place = fc.constantFrom(undefined, 'here', 'there')

const folderLimit = fc.record({ folder: realFolder, place }).map((one) => defined(one))
const limits: fc.Arbitrary<Limits> = fc.record(
  {
    sessions: fc.uniqueArray(fc.constantFrom('s1', 's2', 's3'), { minLength: 1 }),
    folders: fc.array(folderLimit, { minLength: 1, maxLength: 3 }),
    agents: fc.uniqueArray(fc.constantFrom('x', 'y'), { minLength: 1 }),
  },
  { requiredKeys: [] },
)
const facts: fc.Arbitrary<SessionFacts> = fc.record({
  id: fc.constantFrom('s1', 's2', 's3', 's4'),
  cwd: realFolder,
  place,
  agent: fc.constantFrom('x', 'y', 'z'),
})
const rights: fc.Arbitrary<Rights> = fc.record({
  scopes: fc.subarray([...allScopes] as Scope[], { minLength: 1 }),
  limits: fc.option(limits, { nil: undefined }),
  expiresAt: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
})

/** True if `folder` is `parent` or inside it, computed from the names of the folders. */
function isInside(folder: string, parent: string): boolean {
  const names = (path: string) => path.split('/').filter((name) => name !== '')
  return names(parent).every((name, index) => names(folder)[index] === name)
}

describe('a limit to folders', () => {
  it('permits a folder if and only if it is a listed folder or inside one, at the same place', () => {
    const folders = fc.array(folderLimit, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(folders, realFolder, place, (given, folder, at) => {
        const inside = given.some((one) => one.place === at && isInside(folder, one.folder))
        expect(permitsFolder({ folders: given }, { folder, place: at })).toBe(inside)
      }),
    )
  })

  it('applies to the real path of a folder, even if the given path contains links and dots', async () => {
    const root = folderForFile()
    const permitted = join(root, 'permitted')
    for (const folder of ['permitted/a/ab', 'permitted/ab', 'permitted-too/a/ab', 'elsewhere/a/ab', 'a'])
      mkdirSync(join(root, folder), { recursive: true })
    symlinkSync(join(root, 'elsewhere'), join(permitted, 'out'))
    symlinkSync(permitted, join(root, 'elsewhere', 'in'))
    symlinkSync('..', join(permitted, 'a', 'up'))
    const written = fc.array(
      fc.oneof(segment, fc.constantFrom('permitted', 'permitted-too', 'elsewhere', 'out', 'in', 'up')),
      { maxLength: 6 },
    )
    const held = { folders: [{ folder: permitted }] }
    await fc.assert(
      fc.asyncProperty(written, async (names) => {
        // The path is not built with join(), which would resolve the dots before the links.
        const path = [root, ...names].join('/')
        const folder = await checkFolder(path).catch(() => undefined)
        if (folder === undefined) return
        expect(permitsFolder(held, { folder })).toBe(isInside(realpathSync(folder), permitted))
      }),
      { numRuns: 300 },
    )
  })
})

describe('rights that are passed on', () => {
  const isGranted = (given: Rights, held: Rights): boolean => {
    try {
      expectGrantable(given, held)
      return true
    } catch {
      return false
    }
  }

  it('never exceed those of the first giver, however many people pass them on', () => {
    fc.assert(
      fc.property(
        rights,
        fc.array(rights, { minLength: 1, maxLength: 4 }),
        facts,
        (first, chain, session) => {
          let held = first
          for (const next of chain) if (isGranted(next, held)) held = next
          expect(first.scopes).toEqual(expect.arrayContaining([...held.scopes]))
          expect(held.expiresAt ?? Infinity).toBeLessThanOrEqual(first.expiresAt ?? Infinity)
          if (permitsSession(held.limits, session)) expect(permitsSession(first.limits, session)).toBe(true)
        },
      ),
    )
  })

  it('can equal the rights of the giver, unless these combine limits with the scope terminal or admin', () => {
    fc.assert(
      fc.property(rights, (held) => {
        const isConfined = !held.limits || !held.scopes.some((scope) => ['terminal', 'admin'].includes(scope))
        expect(isGranted(held, held)).toBe(isConfined)
      }),
    )
  })

  it('never combine limits with the scope terminal or admin', () => {
    fc.assert(
      fc.property(rights, limits, fc.constantFrom<Scope>('admin', 'terminal'), (held, given, scope) => {
        expect(isGranted({ ...held, limits: given, scopes: [...held.scopes, scope] }, held)).toBe(false)
      }),
    )
  })
})
