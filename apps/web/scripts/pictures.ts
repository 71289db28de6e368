import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as rest } from 'node:timers/promises'
import { crc32, deflateSync, inflateSync } from 'node:zlib'
import type { SessionDetail, WaitingRequest } from '@parley/protocol'
import type { Browser, Page } from 'playwright-core'
import { ConsoleServer, commit, launchBrowser, openTab, phone } from '../../../tests/e2e/console-browser.ts'

/**
 * Creates the screenshots of the console in docs/pictures, each in light and dark, with the demo agent. Run by hand:
 * `node --conditions=source apps/web/scripts/pictures.ts`.
 */
const pictures = resolve(import.meta.dirname, '../../../docs/pictures')
/** The console shows whole paths, so the parent folder has the same path on every machine. */
const projects = join(tmpdir(), 'projects')
let commands = 0

const waterBefore = `import type { Bed, Can } from './garden.ts'

/** Every bed gets the same. */
export function water(beds: Bed[], can: Can): void {
  for (const bed of beds) {
    can.pour(bed, 2)
  }
  can.putAway()
}
`
const waterAfter = `import type { Bed, Can } from './garden.ts'

const enough = 0.4

/** A bed gets what it lacks. */
export function water(beds: Bed[], can: Can): void {
  const thirsty = beds.filter((bed) => bed.wet < enough)
  for (const bed of thirsty) {
    can.pour(bed, (enough - bed.wet) * bed.litres)
  }
  can.putAway()
}
`
const waterTest = `import { expect, it } from 'vitest'
import { water } from './water.ts'
import { bed, can } from './testing.ts'

it('leaves a wet bed alone', () => {
  const full = can()
  water([bed({ wet: 0.9 })], full)
  expect(full.poured).toEqual([])
})
`

ConsoleServer.build()
mkdirSync(projects)
const server = new ConsoleServer()
const browser = await launchBrowser()
try {
  await server.start()
  mkdirSync(pictures, { recursive: true })
  const sessions = await prepare()
  for (const theme of ['light', 'dark'] as const) await takeAll(browser, sessions, theme)
} finally {
  await browser.close()
  await server.dispose()
  rmSync(projects, { recursive: true })
}

type Sessions = { readonly edit: string; readonly changes: string; readonly question: string }

async function takeAll(browser: Browser, sessions: Sessions, theme: 'light' | 'dark'): Promise<void> {
  const wide = await openTab(browser, server, {
    viewport: { width: 1200, height: 750 },
    colorScheme: theme,
    reducedMotion: 'reduce',
  })
  const { page } = wide
  await show(page, `/sessions/${sessions.edit}`)
  await take(page, `session-${theme}`)
  await page.goto(`${server.url}/sessions/${sessions.changes}`)
  await page.getByRole('button', { name: /^Changes/ }).click()
  await page
    .getByRole('row', { name: /thirsty/ })
    .first()
    .waitFor()
  await take(page, `changes-${theme}`)
  await page.getByRole('button', { name: 'Close panel' }).click()
  await show(page, '/inbox')
  await take(page, `inbox-${theme}`)
  await wide.context.close()

  const small = await openTab(browser, server, { ...phone, colorScheme: theme, reducedMotion: 'reduce' })
  await show(small.page, `/sessions/${sessions.question}`)
  await take(small.page, `phone-${theme}`)
  await small.context.close()
}

async function show(page: Page, path: string): Promise<void> {
  await page.goto(`${server.url}${path}`)
  await page.getByTestId('request').first().waitFor()
}

/** Takes the screenshot after highlighting is done and fonts are loaded, with the pointer out of the way. */
async function take(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0)
  await page.evaluate(() => document.fonts.ready)
  await rest(1000)
  writeFileSync(join(pictures, `${name}.png`), packed(await page.screenshot()))
}

/** Compresses a PNG again: the browser's encoder favours speed over size. */
function packed(png: Buffer): Buffer {
  const chunks: { type: string; data: Buffer }[] = []
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    chunks.push({
      type: png.toString('latin1', at + 4, at + 8),
      data: png.subarray(at + 8, at + 8 + length),
    })
    at += 12 + length
  }
  const pixels = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data))
  const header = chunks[0]!
  const small = deflateSync(plainRows(inflateSync(pixels), header.data), { level: 9, memLevel: 9 })
  const kept = [header, { type: 'IDAT', data: small }, { type: 'IEND', data: Buffer.alloc(0) }]
  return Buffer.concat([png.subarray(0, 8), ...kept.map(chunkOf)])
}

/** Removes the PNG row filters: unfiltered flat surfaces compress better. */
function plainRows(rows: Buffer, header: Buffer): Buffer {
  const size = header[9] === 6 ? 4 : 3
  const width = header.readUInt32BE(0) * size + 1
  const plain = Buffer.alloc(rows.length)
  for (let at = 0; at < rows.length; at++) {
    const column = at % width
    if (column === 0) continue
    const left = column > size ? plain[at - size]! : 0
    const above = at >= width ? plain[at - width]! : 0
    const corner = column > size && at >= width ? plain[at - width - size]! : 0
    const guesses = [0, left, above, (left + above) >> 1, nearest(left, above, corner)]
    plain[at] = rows[at]! + guesses[rows[at - column]!]!
  }
  return plain
}

/** The Paeth predictor of the PNG format. */
function nearest(left: number, above: number, corner: number): number {
  const guess = left + above - corner
  const [fromLeft, fromAbove, fromCorner] = [left, above, corner].map((one) => Math.abs(guess - one))
  if (fromLeft! <= fromAbove! && fromLeft! <= fromCorner!) return left
  return fromAbove! <= fromCorner! ? above : corner
}

function chunkOf({ type, data }: { type: string; data: Buffer }): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

/** Creates sessions in various states: some done, some working, some with open requests. */
async function prepare(): Promise<Sessions> {
  const [garden, library, kitchen] = [makeGarden(), makeFolder('library'), makeFolder('kitchen')]
  await settled(await start(kitchen, 'What markdown looks like', 'show markdown'))
  await start(library, 'Find unused exports', 'delegate the search')
  await start(kitchen, 'Wait for the oven', 'hang')
  const question = await start(library, 'Where should the loans live?', 'ask me what you need to know')
  await start(kitchen, 'Plan the week', 'make a plan')

  const changes = await start(
    garden,
    'Water only what is thirsty',
    'Edit the greeting as well: it should take a name.',
  )
  await allow(changes)
  await settled(changes)
  await prompt(changes, 'Run a command to see whether the tests pass.')
  await allow(changes)
  await settled(changes)
  growGarden(garden)

  const edit = await start(garden, 'Greet people by name', 'Run a command: do the tests pass?')
  await allow(edit)
  await settled(edit)
  await prompt(edit, 'Then edit the greeting, so that it takes a name.')
  await asking(edit)
  await asking(question)
  return { edit, changes, question }
}

async function start(cwd: string, title: string, words: string): Promise<string> {
  const input = { agent: 'demo', cwd, title, prompt: words }
  return (await server.call<{ id: string }>('/api/sessions', input)).id
}

function command(id: string, body: object): Promise<unknown> {
  return server.call(`/api/sessions/${id}/commands`, { commandId: `picture-${++commands}`, ...body })
}

function prompt(id: string, text: string): Promise<unknown> {
  return command(id, { type: 'prompt.submit', text })
}

async function allow(id: string): Promise<void> {
  const { requestId } = await asking(id)
  await command(id, { type: 'permission.decide', requestId, decision: 'allow' })
}

async function asking(id: string): Promise<WaitingRequest['request']> {
  for (;;) {
    const { requests } = await server.call<{ requests: WaitingRequest[] }>('/api/permissions')
    const waiting = requests.find(({ session }) => session.id === id)
    if (waiting) return waiting.request
    await rest(50)
  }
}

async function settled(id: string): Promise<void> {
  while ((await server.call<SessionDetail>(`/api/sessions/${id}?tail=0`)).turn) await rest(50)
}

function makeFolder(name: string): string {
  const folder = join(projects, name)
  mkdirSync(join(folder, 'src'), { recursive: true })
  return folder
}

function makeGarden(): string {
  const folder = makeFolder('garden')
  writeFileSync(join(folder, 'src/greet.ts'), "export const greet = () => 'Hello'\n")
  writeFileSync(join(folder, 'src/water.ts'), waterBefore)
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd: folder })
  commit(folder, 'Beds and a can')
  return folder
}

function growGarden(folder: string): void {
  writeFileSync(join(folder, 'src/greet.ts'), "export const greet = (name: string) => 'Hello, ' + name\n")
  writeFileSync(join(folder, 'src/water.ts'), waterAfter)
  writeFileSync(join(folder, 'src/water.test.ts'), waterTest)
}
