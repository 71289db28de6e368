import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, linkSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import { messageOf, ParleyError, validationError } from '@parley/protocol'
import { type FileEntry, Manifest, manifestName } from './contents.ts'
import { refuseFullDisk } from './snapshot.ts'
import { damaged, TarReader, tarEnd, tarHeader, tarPadding } from './tar.ts'

/** Called with the total size in bytes of the files that were processed so far. */
export type Progress = (bytes: number) => void

/**
 * A file for the archive. `content` is the path of a file that does not change, or the bytes of a file that may change.
 */
export type SourceFile = { readonly name: string; readonly content: string | Buffer }

function partsOf({ content }: SourceFile): AsyncIterable<Buffer> | Buffer[] {
  return typeof content === 'string' ? createReadStream(content) : [content]
}

/**
 * Writes an archive, a tar file compressed with gzip, readable only by this user. It gets its final name only when it
 * is complete. Rejects with a ParleyError if a file with this name exists.
 */
export async function writeArchive(
  file: string,
  sources: readonly SourceFile[],
  { version, now, progress }: { readonly version: string; readonly now: number; readonly progress: Progress },
): Promise<Manifest> {
  const files: FileEntry[] = []
  for (const source of sources) files.push({ name: source.name, ...(await digestOf(source)) })
  const manifest: Manifest = { format: 1, version, createdAt: now, files }
  const temporary = `${file}.partial`
  try {
    const output = createWriteStream(temporary, { mode: 0o600, flags: 'wx', flush: true })
    const gzip = createGzip({ level: constants.Z_BEST_SPEED })
    await pipeline(Readable.from(archiveParts(manifest, sources, progress)), gzip, output)
    linkSync(temporary, file)
  } catch (thrown) {
    throw cannotWriteArchive(file, thrown)
  } finally {
    rmSync(temporary, { force: true })
  }
  return manifest
}

async function* archiveParts(manifest: Manifest, sources: readonly SourceFile[], progress: Progress) {
  const { createdAt, files } = manifest
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
  yield Buffer.concat([tarHeader(manifestName, text.length, createdAt), text, tarPadding(text.length)])
  let done = 0
  for (const [index, source] of sources.entries()) {
    const { name, bytes } = files[index] as FileEntry
    yield tarHeader(name, bytes, createdAt)
    for await (const part of partsOf(source)) {
      yield part
      done += part.length
      progress(done)
    }
    yield tarPadding(bytes)
  }
  yield tarEnd
}

async function digestOf(source: SourceFile): Promise<Omit<FileEntry, 'name'>> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const part of partsOf(source)) {
    hash.update(part)
    bytes += part.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

function cannotWriteArchive(file: string, cause: unknown): unknown {
  if (cause instanceof ParleyError) return cause
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'EEXIST')
    return new ParleyError('conflict', `${file} (or ${file}.partial) exists already. Choose another name.`, {
      cause,
    })
  return new ParleyError('internal_error', `${file} cannot be written (${code ?? messageOf(cause)}).`, {
    cause,
  })
}

const maxManifestBytes = 1024 * 1024

/**
 * Extracts an archive into an empty folder. Only the files that the manifest lists are written, with at most the listed
 * sizes, and their checksums are verified. Rejects with a ParleyError.
 */
export async function readArchive(file: string, folder: string, progress: Progress): Promise<Manifest> {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) throw new ParleyError('not_found', `There is no file ${file}.`)
  const source = createReadStream(file)
  const gunzip = createGunzip()
  const piped = pipeline(source, gunzip).catch(() => undefined)
  try {
    const archive = new TarReader(gunzip)
    const manifest = await readManifest(archive)
    refuseFullDisk(
      folder,
      manifest.files.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    let done = 0
    for (const entry of manifest.files)
      await extract(archive, entry, join(folder, entry.name), (bytes) => {
        done += bytes
        progress(done)
      })
    if (await archive.next()) throw damaged('it contains files that are not in its manifest')
    return manifest
  } catch (thrown) {
    throw thrown instanceof ParleyError || isDiskProblem(thrown) ? thrown : damaged(messageOf(thrown), thrown)
  } finally {
    source.destroy()
    gunzip.destroy()
    await piped
  }
}

async function readManifest(archive: TarReader): Promise<Manifest> {
  const entry = await archive.next()
  if (entry?.name !== manifestName || entry.bytes > maxManifestBytes)
    throw damaged('its first file is not the manifest')
  const parts: Buffer[] = []
  for await (const part of archive.content()) parts.push(part)
  const value: unknown = JSON.parse(Buffer.concat(parts).toString('utf8'))
  const { format } = (value ?? {}) as { format?: unknown }
  if (typeof format === 'number' && format > 1)
    throw damaged(`its format ${format} is of a later version of Parley; update Parley`)
  const parsed = Manifest.safeParse(value)
  if (!parsed.success) throw damaged(validationError('its manifest', parsed.error).message, parsed.error)
  return parsed.data
}

async function extract(
  archive: TarReader,
  entry: FileEntry,
  path: string,
  progress: Progress,
): Promise<void> {
  const found = await archive.next()
  if (found?.name !== entry.name || found.bytes !== entry.bytes)
    throw damaged(`${entry.name} is missing or has another size`)
  const hash = createHash('sha256')
  const output: FileHandle = await open(path, 'wx', 0o600)
  try {
    for await (const part of archive.content()) {
      hash.update(part)
      await output.writeFile(part)
      progress(part.length)
    }
    await output.sync()
  } finally {
    await output.close()
  }
  if (hash.digest('hex') !== entry.sha256) throw damaged(`the checksum of ${entry.name} is wrong`)
}

function isDiskProblem(thrown: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EIO', 'EACCES', 'EROFS'].includes((thrown as NodeJS.ErrnoException).code ?? '')
}
