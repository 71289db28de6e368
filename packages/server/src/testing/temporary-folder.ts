import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from './peers.ts'

/** A folder that is removed, with everything in it, when it is disposed. Its path contains no symbolic links. */
export class TemporaryFolder implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'parley-test-')))

  /** Creates an empty folder inside this folder and returns its path. */
  folder(name = 'folder'): string {
    return mkdtempSync(join(this.path, `${name}-`))
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The path of a folder for all tests of the file that calls this at its top level. */
export function folderForFile(): string {
  const folder = new TemporaryFolder()
  afterAll(() => folder[Symbol.dispose]())
  return folder.path
}

/** The path of a folder for the test that is running. */
export function folderForTest(): string {
  const folder = new TemporaryFolder()
  onTestFinished(() => folder[Symbol.dispose]())
  return folder.path
}
