import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { ParleyError } from '@parley/protocol'

/**
 * Creates the data folder and its missing parents, for this user only. It creates them one by one, because the
 * recursive `mkdir` of Node never returns if nothing can be created, as in /proc.
 */
export function makeDataFolder(dataDir: string): void {
  try {
    makeFolder(dataDir)
    tighten(dataDir)
  } catch (thrown) {
    throw cannotWrite(dataDir, thrown)
  }
}

/** Whether other users of this machine can read the data folder. */
export function isDataFolderOpen(dataDir: string): boolean {
  return process.platform !== 'win32' && (statSync(dataDir).mode & 0o077) !== 0
}

const ownFiles =
  /^(parley\.sqlite.*|(token|config\.json|machine-id|seal-key\.pem)(\.\d+\.\w{8})?|agents|adapters|demo|node|restore\.(partial|ready))$/

/**
 * Removes the access of other users to a folder that contains only Parley's files. A folder with other files is left
 * unchanged.
 */
function tighten(dataDir: string): void {
  if (!isDataFolderOpen(dataDir) || !readdirSync(dataDir).every((name) => ownFiles.test(name))) return
  if (statSync(dataDir).uid === process.getuid?.()) chmodSync(dataDir, 0o700)
}

function makeFolder(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (!found && dirname(folder) !== folder) makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (thrown) {
    const isMade = (thrown as NodeJS.ErrnoException).code === 'EEXIST' && statSync(folder).isDirectory()
    if (!isMade) throw thrown
  }
}

/**
 * The folder with the complete files of a backup. It gets this name at the point of no return of a restore. Its files
 * then replace those of the data folder.
 */
export function readyFolder(dataDir: string): string {
  return join(dataDir, 'restore.ready')
}

/** Finishes a restore that was killed. Several processes may do this at once. */
export function finishRestore(dataDir: string): void {
  const ready = readyFolder(dataDir)
  if (!existsSync(ready)) return
  try {
    for (const name of readdirSync(ready)) renameSync(join(ready, name), join(dataDir, name))
    rmdirSync(ready)
  } catch (thrown) {
    // Another process has already moved the file.
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw cannotWrite(dataDir, thrown)
    if (existsSync(ready)) finishRestore(dataDir)
  }
}

/** The reason why a missing data folder cannot be created; undefined if it can be created. Changes nothing. */
export function makingProblem(dataDir: string): string | undefined {
  const parent = nearestParent(dataDir)
  if (!statSync(parent).isDirectory()) return `${parent} is not a folder`
  try {
    rmdirSync(mkdtempSync(join(parent, '.parley-doctor-')))
    return undefined
  } catch (thrown) {
    return `${parent} is not writable (${(thrown as NodeJS.ErrnoException).code})`
  }
}

function nearestParent(folder: string): string {
  const parent = dirname(folder)
  return parent === folder || statSync(parent, { throwIfNoEntry: false }) ? parent : nearestParent(parent)
}

export function cannotWrite(dataDir: string, cause: unknown): ParleyError {
  const { code } = cause as NodeJS.ErrnoException
  return new ParleyError(
    'internal_error',
    `The data folder ${dataDir} cannot be created or written (${code}). Check its permissions, or choose another with --data-dir.`,
    { cause },
  )
}
