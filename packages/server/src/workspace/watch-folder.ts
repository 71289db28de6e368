import { type FSWatcher, watch } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Look } from './git.ts'

export type FolderReader = {
  /** The watch has started. If `whole` is false, a part of the folder is not watched, and changes may be missed. */
  watching(facts: { whole: boolean }): void
  /** Paths of changed files, or of folders with all their contents; without paths, anything may have changed. */
  changed(news: { paths?: readonly string[] }): void
}

export type WatchLimits = {
  /** The maximum number of folders per watch. Each costs the system some memory. */
  readonly folders: number
  /** The maximum number of ignored paths in the cache. For other paths, git is asked again. */
  readonly ignored: number
}

const gatherMs = 200
/**
 * The maximum number of changed paths that are reported by name. If more have changed, the report says that anything
 * may have changed.
 */
const maxPaths = 200
/** Git's files that change with the checked-out commit and with the staged files. */
const gitFiles = new Set(['HEAD', 'index', 'ORIG_HEAD'])

/**
 * Watches the files of one folder that git does not ignore, with one watcher per subfolder: a recursive watch would
 * include ignored folders too. Reports every write, even if the content is unchanged.
 */
export class FolderWatch {
  readonly #path: string
  readonly #look: Look
  readonly #limits: WatchLimits
  readonly #readers = new Set<FolderReader>()
  readonly #watchers = new Map<string, FSWatcher>()
  #ignored = new Set<string>()
  #kept = ''
  #gitWatcher: FSWatcher | undefined
  #isRepository = false
  #waiting = new Set<string>()
  #anything = false
  #timer: NodeJS.Timeout | undefined
  #busy: Promise<void>
  #whole = true
  #closed = false

  constructor(path: string, look: Look, limits: WatchLimits) {
    this.#path = path
    this.#look = look
    this.#limits = limits
    this.#busy = this.#lookAtAll()
  }

  join(reader: FolderReader): void {
    this.#readers.add(reader)
    void this.#busy.then(() => this.#readers.has(reader) && reader.watching({ whole: this.#whole }))
  }

  leave(reader: FolderReader): void {
    this.#readers.delete(reader)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#gitWatcher?.close()
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  /** Scans the folder from its top. Watches new folders, and stops watching folders that are missing or ignored. */
  async #lookAtAll(): Promise<void> {
    const before = [...this.#watchers.keys()]
    this.#isRepository = await this.#watchGit()
    this.#ignored = new Set()
    this.#kept = await this.#keptFiles()
    const found = new Set<string>()
    this.#whole = true
    await this.#watchBelow('', found)
    for (const folder of before) if (!found.has(folder)) this.#forget(folder)
  }

  async #watchGit(): Promise<boolean> {
    const found = await this.#look(['rev-parse', '--absolute-git-dir']).catch(() => undefined)
    if (found?.code !== 0 || this.#closed) return false
    this.#gitWatcher?.close()
    this.#gitWatcher = this.#watch(found.stdout.trim(), (name) => {
      if (name === null || gitFiles.has(name)) this.#note(undefined)
    })
    return true
  }

  /**
   * Watches a folder and the folders below it; outside a repository, only the top folder. Each folder is watched before
   * it is read, so that nothing is missed in between.
   */
  async #watchBelow(start: string, found: Set<string>): Promise<void> {
    for (let level = [start]; level.length > 0; ) {
      const below: string[] = []
      for (const folder of level) {
        if (this.#closed || !this.#watchOne(folder)) return
        found.add(folder)
        if (this.#isRepository) below.push(...(await this.#foldersIn(folder)))
      }
      const ignored = new Set(await this.#ignoredOf(below))
      level = below.filter((folder) => !ignored.has(folder))
    }
  }

  async #foldersIn(folder: string): Promise<string[]> {
    const entries = await readdir(join(this.#path, folder), { withFileTypes: true }).catch(() => [])
    if (folder !== '' && entries.some(({ name }) => name === '.git')) {
      // A repository inside the repository is not watched, because only its commit matters here.
      this.#forget(folder)
      return []
    }
    const names = entries.flatMap((entry) =>
      entry.isDirectory() && entry.name !== '.git' ? [entry.name] : [],
    )
    return names.map((name) => (folder === '' ? name : `${folder}/${name}`))
  }

  /** Watches one folder. Returns false if the limit is reached. */
  #watchOne(folder: string): boolean {
    if (this.#watchers.has(folder)) return true
    if (this.#watchers.size >= this.#limits.folders) {
      this.#whole = false
      return false
    }
    const watcher = this.#watch(join(this.#path, folder), (name) => this.#noteChange(folder, name))
    if (watcher) this.#watchers.set(folder, watcher)
    return this.#whole
  }

  #watch(path: string, changed: (name: string | null) => void): FSWatcher | undefined {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) => changed(name))
      watcher.on('error', () => watcher.close())
      return watcher
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // With these codes, the system has no more watches. Other errors, such as a missing or unreadable folder, are
      // ignored.
      if (code === 'ENOSPC' || code === 'EMFILE' || code === 'ENFILE') this.#whole = false
      return undefined
    }
  }

  #noteChange(folder: string, name: string | null): void {
    if (name === '.git' && this.#isRepository) return
    const path = folder === '' ? name : `${folder}/${name}`
    if (name === null || path === null) return this.#note(undefined)
    if (!this.#ignored.has(path)) this.#note(path)
  }

  #note(path: string | undefined): void {
    if (path === undefined || this.#waiting.size >= maxPaths) this.#anything = true
    else this.#waiting.add(path)
    this.#timer ??= setTimeout(() => {
      this.#busy = this.#busy.then(() => this.#report()).catch(() => {})
    }, gatherMs)
  }

  async #report(): Promise<void> {
    const [paths, anything] = [[...this.#waiting], this.#anything]
    this.#waiting = new Set()
    this.#anything = false
    this.#timer = undefined
    const wasWhole = this.#whole
    const all =
      paths.length >= maxPaths ||
      paths.some((path) => /(^|\/)\.git(ignore)?$/.test(path)) ||
      (anything && (await this.#keptFiles()) !== this.#kept)
    const reported = all ? [] : await this.#follow(paths)
    if (all) await this.#lookAtAll()
    if (this.#closed) return
    for (const reader of this.#readers) {
      if (wasWhole !== this.#whole) reader.watching({ whole: this.#whole })
      if (all || anything) reader.changed({})
      else if (reported.length > 0) reader.changed({ paths: reported })
    }
  }

  /** The paths that git does not ignore. Starts watching new folders among them, and stops watching removed folders. */
  async #follow(paths: readonly string[]): Promise<string[]> {
    const ignored = new Set(await this.#ignoredOf(paths))
    const reported = paths.filter((path) => !ignored.has(path))
    for (const path of reported) {
      const found = await lstat(join(this.#path, path)).catch(() => undefined)
      // The folder may have been replaced by a new folder of the same name, which the old watcher does not see.
      this.#forget(path)
      if (found?.isDirectory()) await this.#watchBelow(path, new Set())
    }
    for (const path of ignored) this.#forget(path)
    return reported
  }

  #forget(folder: string): void {
    for (const [path, watcher] of this.#watchers) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue
      watcher.close()
      this.#watchers.delete(path)
    }
  }

  /**
   * The tracked files that match the ignore rules. Git reports neither these files nor their parent folders as ignored.
   * Therefore a change of this list changes the set of ignored paths.
   */
  async #keptFiles(): Promise<string> {
    if (!this.#isRepository) return ''
    const { stdout } = await this.#look(['ls-files', '--cached', '--ignored', '--exclude-standard']).catch(
      () => ({ stdout: '' }),
    )
    return stdout
  }

  /** The paths that git ignores. They are cached until the ignore rules change. */
  async #ignoredOf(paths: readonly string[]): Promise<string[]> {
    if (!this.#isRepository) return []
    const ignored = new Set(paths.filter((path) => this.#ignored.has(path)))
    const asked = paths.filter((path) => !ignored.has(path))
    for (let at = 0; at < asked.length; at += maxPaths) {
      // With `./`, a path that starts with a colon is not read as pathspec magic.
      const some = asked.slice(at, at + maxPaths).map((path) => `./${path}`)
      const { stdout } = await this.#look(['check-ignore', '--', ...some]).catch(() => ({ stdout: '' }))
      for (const line of stdout.split('\n')) if (line !== '') ignored.add(unquoted(line).slice(2))
    }
    if (this.#ignored.size >= this.#limits.ignored) this.#ignored = new Set()
    for (const path of ignored) this.#ignored.add(path)
    return paths.filter((path) => ignored.has(path))
  }
}

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/**
 * The path in a line of git's output. If it has special characters, git writes it in quotes, with escapes for its
 * bytes.
 */
function unquoted(line: string): string {
  if (!line.startsWith('"')) return line
  const bytes = line
    .slice(1, -1)
    .replace(/\\([0-7]{3}|.)/g, (_, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (escapes[code] ?? code),
    )
  return Buffer.from(bytes, 'latin1').toString()
}
