import { mkdirSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let temporary: string | undefined

/**
 * Writes settings of an agent into a file that only this user can change, and returns its path. The file is in the
 * agents folder, or in a temporary folder of this process if there is none.
 */
export function writeSettings(
  name: string,
  settings: Readonly<Record<string, unknown>>,
  agentsFolder: string | undefined,
): string {
  const folder = agentsFolder ?? temporaryFolder()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, `${name}.json`)
  const text = `${JSON.stringify(settings)}\n`
  if (textOf(file) === text) return file
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o600 })
  renameSync(draft, file)
  return file
}

function temporaryFolder(): string {
  temporary ??= mkdtempSync(join(tmpdir(), 'parley-agents-'))
  return temporary
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
