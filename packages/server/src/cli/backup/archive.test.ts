import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { folderForTest } from '../../testing/temporary-folder.ts'
import { readArchive, writeArchive } from './archive.ts'
import { databaseName, manifestName } from './contents.ts'
import { TarReader, tarEnd, tarHeader, tarPadding } from './tar.ts'

const now = 1_700_000_000_000
const silent = () => undefined
const database = Buffer.from('the database')

async function archiveIn(folder: string): Promise<string> {
  const file = join(folder, 'backup.tar.gz')
  const sources = [
    { name: databaseName, content: database },
    { name: 'config.json', content: Buffer.from('{}') },
  ]
  await writeArchive(file, sources, { version: '1', now, progress: silent })
  return file
}

type Entry = { readonly name: string; readonly content: Buffer; readonly header?: (header: Buffer) => void }

/** Writes an archive with any entries, and headers with valid checksums. */
function forge(file: string, entries: readonly Entry[], end = tarEnd): void {
  const parts = entries.flatMap(({ name, content, header: change }) => {
    const header = tarHeader(name, content.length, now)
    change?.(header)
    header.fill(' ', 148, 156)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [header, content, tarPadding(content.length)]
  })
  writeFileSync(file, gzipSync(Buffer.concat([...parts, end])))
}

const listed = (name: string, content: Buffer, change: object = {}) => ({
  name,
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
  ...change,
})
const manifest = (files: unknown, change: object = {}): Entry => ({
  name: manifestName,
  content: Buffer.from(JSON.stringify({ format: 1, version: '1', createdAt: now, files, ...change })),
})
const sound = [manifest([listed(databaseName, database)]), { name: databaseName, content: database }]

it('tar reads an archive and extracts the original content', async () => {
  const folder = folderForTest()
  const file = await archiveIn(folder)
  const list = execFileSync('tar', ['tvzf', file], { encoding: 'utf8' }).trim().split('\n')
  expect(list.map((line) => line.replace(/\s+/g, ' ').split(' ').at(-1))).toEqual([
    manifestName,
    databaseName,
    'config.json',
  ])
  expect(list.every((line) => line.startsWith('-rw-------'))).toBe(true)
  expect(execFileSync('tar', ['xzOf', file, databaseName])).toEqual(database)
  const target = join(folder, 'target')
  mkdirSync(target)
  const read = await readArchive(file, target, silent)
  expect(read.files.map(({ name }) => name)).toEqual([databaseName, 'config.json'])
  expect(readFileSync(join(target, databaseName))).toEqual(database)
})

it('an archive that tar has packed can be read', async () => {
  const folder = folderForTest()
  const file = await archiveIn(folder)
  const [unpacked, again] = [join(folder, 'unpacked'), join(folder, 'again.tar.gz')]
  mkdirSync(unpacked)
  execFileSync('tar', ['xzf', file, '-C', unpacked])
  execFileSync('tar', ['czf', again, '-C', unpacked, manifestName, databaseName, 'config.json'])
  const target = join(folder, 'target')
  mkdirSync(target)
  expect((await readArchive(again, target, silent)).files).toHaveLength(2)
})

const big = { bytes: 2 ** 50 }
it.each<[string, readonly Entry[], RegExp]>([
  [
    'a path that leaves the folder',
    [...sound, { name: '../outside', content: database }],
    /not a plain file/,
  ],
  ['an absolute path', [{ name: '/etc/passwd', content: database }], /not a plain file/],
  [
    'a listed path that leaves the folder',
    [manifest([listed(databaseName, database), listed('../x', database)]), ...sound.slice(1)],
    /not a file of a backup/,
  ],
  [
    'a symbolic link',
    [
      sound[0] as Entry,
      { name: databaseName, content: Buffer.alloc(0), header: (header) => header.write('2/etc/passwd', 156) },
    ],
    /not a plain file/,
  ],
  [
    'a hard link',
    [
      sound[0] as Entry,
      { name: databaseName, content: database, header: (header) => header.write('1/etc/passwd', 156) },
    ],
    /not a plain file/,
  ],
  [
    'a folder',
    [sound[0] as Entry, { name: 'x', content: Buffer.alloc(0), header: (header) => header.write('5', 156) }],
    /not a plain file/,
  ],
  [
    'a long name in the prefix field',
    [
      sound[0] as Entry,
      { name: databaseName, content: database, header: (header) => header.write('../..', 345) },
    ],
    /not a plain file/,
  ],
  [
    'a file that is not listed',
    [...sound, { name: 'config.json', content: database }],
    /not in its manifest/,
  ],
  [
    'another content than listed',
    [sound[0] as Entry, { name: databaseName, content: Buffer.from('The database') }],
    /checksum/,
  ],
  [
    'more bytes than listed',
    [sound[0] as Entry, { name: databaseName, content: Buffer.alloc(1_000_000) }],
    /another size/,
  ],
  ['a missing file', [sound[0] as Entry], /missing/],
  [
    'more bytes than the disk has',
    [manifest([listed(databaseName, database, big)]), ...sound.slice(1)],
    /MB are needed/,
  ],
  [
    'no database',
    [manifest([listed('token', database)]), { name: 'token', content: database }],
    /no database/,
  ],
  [
    'a file that is listed twice',
    [manifest([listed(databaseName, database), listed(databaseName, database)]), ...sound.slice(1)],
    /twice/,
  ],
  ['a later format', [manifest([], { format: 2 }), ...sound.slice(1)], /later version/],
  ['no manifest', sound.slice(1), /first file is not the manifest/],
  [
    'a manifest of many megabytes',
    [{ name: manifestName, content: Buffer.alloc(2_000_000, 32) }],
    /first file is not the manifest/,
  ],
  [
    'a manifest that is not JSON',
    [{ name: manifestName, content: Buffer.from('{') }],
    /not a complete backup/,
  ],
])(
  'an archive with %s is refused, and nothing outside the folder is written',
  async (_, entries, message) => {
    const folder = folderForTest()
    const target = join(folder, 'deep', 'target')
    mkdirSync(target, { recursive: true })
    forge(join(folder, 'backup.tar.gz'), entries)
    await expect(readArchive(join(folder, 'backup.tar.gz'), target, silent)).rejects.toThrow(message)
    expect(readdirSync(folder).sort()).toEqual(['backup.tar.gz', 'deep'])
    expect(readdirSync(join(folder, 'deep'))).toEqual(['target'])
  },
)

it('a link in the folder is not followed', async () => {
  const folder = folderForTest()
  const target = join(folder, 'target')
  mkdirSync(target)
  symlinkSync(join(folder, 'elsewhere'), join(target, databaseName))
  await expect(readArchive(await archiveIn(folder), target, silent)).rejects.toThrow(/EEXIST/)
  expect(readdirSync(folder).sort()).toEqual(['backup.tar.gz', 'target'])
})

it('endless zeros after the archive are not read', async () => {
  const folder = folderForTest()
  const file = join(folder, 'backup.tar.gz')
  forge(file, sound, Buffer.alloc(64 * 1024 * 1024))
  const target = join(folder, 'target')
  mkdirSync(target)
  expect((await readArchive(file, target, silent)).files).toHaveLength(1)
})

it('every archive that was cut or changed is refused', async () => {
  const folder = folderForTest()
  const bytes = readFileSync(await archiveIn(folder))
  let round = 0
  const isRefused = async (changed: Buffer) => {
    const [file, target] = [join(folder, `changed-${++round}`), join(folder, `target-${round}`)]
    writeFileSync(file, changed)
    mkdirSync(target)
    await expect(readArchive(file, target, silent)).rejects.toMatchObject({ code: 'validation_error' })
  }
  await fc.assert(
    // The last bytes are zeros that end the archive, and the checksum of gzip.
    fc.asyncProperty(fc.integer({ min: 0, max: bytes.length - 40 }), (length) =>
      isRefused(bytes.subarray(0, length)),
    ),
    { numRuns: 30 },
  )
  const tar = gunzipSync(bytes)
  const content = tar.indexOf(database)
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: database.length - 1 }),
      fc.integer({ min: 1, max: 255 }),
      (at, mask) => {
        const changed = Buffer.from(tar)
        changed[content + at] = (changed[content + at] ?? 0) ^ mask
        return isRefused(gzipSync(changed))
      },
    ),
    { numRuns: 30 },
  )
})

it('files of more than eight gigabytes have a readable header', async () => {
  const bytes = 9 * 2 ** 30
  const reader = new TarReader(
    (async function* () {
      yield tarHeader('large', bytes, now)
    })(),
  )
  expect(await reader.next()).toEqual({ name: 'large', bytes })
})
