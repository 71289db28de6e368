import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError, tokenPrefix } from '@parley/protocol'
import type { Configuration } from './configuration.ts'
import { cannotWrite, makeDataFolder } from './data-folder.ts'

export function tokenFile(dataDir: string): string {
  return join(dataDir, 'token')
}

/** The token of this data folder: the configured token, or the token in its file, which is created on first use. */
export function tokenOf({ token, dataDir }: Pick<Configuration, 'token' | 'dataDir'>): string {
  return token?.value ?? readToken(dataDir) ?? makeToken(dataDir)
}

/**
 * The token of this machine, for a server that starts. A named token is rejected: as the token of this machine, it
 * would permit everything.
 */
export function machineTokenOf(configuration: Pick<Configuration, 'token' | 'dataDir'>): string {
  const { token } = configuration
  if (!token?.value.startsWith(tokenPrefix)) return tokenOf(configuration)
  throw new ParleyError(
    'validation_error',
    `The token of ${token.from} is a named token, which only a running server knows. Start the server without it, with the token of this machine.`,
  )
}

export function readTokenFile(file: string, from: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    throw new ParleyError('validation_error', `The file of ${from}, ${file}, cannot be read (${code}).`, {
      cause: thrown,
    })
  }
}

export function rotateToken(dataDir: string): string {
  const token = newToken()
  renameSync(writeBeside(dataDir, token), tokenFile(dataDir))
  return token
}

/** Whether other users of this machine can read the token. */
export function isTokenExposed(dataDir: string): boolean {
  const mode = statSync(tokenFile(dataDir), { throwIfNoEntry: false })?.mode ?? 0
  return process.platform !== 'win32' && (mode & 0o077) !== 0
}

function readToken(dataDir: string): string | undefined {
  const file = tokenFile(dataDir)
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new ParleyError('internal_error', `${file} cannot be read (${code}). Check its permissions.`, {
      cause: thrown,
    })
  }
  if (/^[\x21-\x7e]+$/.test(text)) return text
  throw new ParleyError(
    'validation_error',
    `${file} contains no token. The command "token --rotate" creates one.`,
  )
}

/**
 * Creates the token file and returns its token. The file is created atomically: if two programs start at
 * once, both use the file that was created first.
 */
function makeToken(dataDir: string): string {
  const token = newToken()
  const temporary = writeBeside(dataDir, token)
  try {
    linkSync(temporary, tokenFile(dataDir))
    return token
  } catch (thrown) {
    const made = readToken(dataDir)
    if (made === undefined) throw cannotWrite(dataDir, thrown)
    return made
  } finally {
    rmSync(temporary, { force: true })
  }
}

function writeBeside(dataDir: string, token: string): string {
  const temporary = `${tokenFile(dataDir)}.${process.pid}.${randomBytes(4).toString('hex')}`
  makeDataFolder(dataDir)
  try {
    writeFileSync(temporary, `${token}\n`, { mode: 0o600, flag: 'wx' })
  } catch (thrown) {
    throw cannotWrite(dataDir, thrown)
  }
  return temporary
}

function newToken(): string {
  return randomBytes(32).toString('base64url')
}
