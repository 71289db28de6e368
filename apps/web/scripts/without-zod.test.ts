import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, type Rolldown } from 'vite'
import { expect, it, onTestFinished } from 'vitest'
import { withoutZod } from './without-zod.ts'

/** Builds a page from a file of the given folder. Returns the code of the page. */
async function built(folder: string, name: string, code: string): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'parley-page-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, folder), { recursive: true })
  const input = join(root, folder, name)
  writeFileSync(input, code)
  const output = await build({
    root,
    configFile: false,
    logLevel: 'silent',
    plugins: [withoutZod()],
    build: { write: false, minify: false, lib: { entry: input, formats: ['es'] } },
  })
  const [result] = [output].flat() as Rolldown.RolldownOutput[]
  return result?.output.map((file) => (file.type === 'chunk' ? file.code : '')).join('') ?? ''
}

const checking = `
  import { z } from 'zod'
  const Name = z.string()
  export const isName = (value) => Name.safeParse(value).success`

it.each([
  ['apps/web/src', checking],
  ['packages/client/src', checking],
  ['packages/protocol/src', checking.replace('safeParse(value).success', 'parse(value) === value')],
])('a page is not built if code of %s checks a value with a schema', async (folder, code) => {
  await expect(built(folder, 'entry.ts', code)).rejects.toThrow(/entry\.ts checks a value with a schema/)
})

it('code that is not part of the page, and JSON.parse, do not prevent a build', async () => {
  const unused = `
    import { z } from 'zod'
    const isName = (value) => z.string().safeParse(value).success
    export const read = (text) => JSON.parse(text)`
  const page = await built('packages/client/src', 'entry.ts', unused)
  expect(page).toContain('JSON.parse')
  expect(page).not.toContain('isName')
})

it('the page leaves the check of its commands to the server', async () => {
  const code = `import { z } from 'zod'
    export const checkCommand = (command) => z.string().parse(command)`
  expect(await built('packages/client/src', 'check-command.ts', code)).not.toContain('parse')
})
