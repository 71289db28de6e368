import { createHash, randomUUID } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'

const machineIdFiles = ['/etc/machine-id', '/var/lib/dbus/machine-id']
const containerMarks = ['/.dockerenv', '/run/.containerenv', '/run/secrets/kubernetes.io']

/**
 * The place of the folders of this machine: a hash of its machine id, because the id itself must not be published.
 * If the machine has no id, a random id in the data folder is used. Containers of one image have the same machine id
 * but not the same folders, so the name of a container is part of its place.
 */
export function placeOfMachine(dataDir: string): string {
  const machine = machineIdFiles.map(read).find(Boolean) ?? storedId(join(dataDir, 'machine-id'))
  const container = containerMarks.some((mark) => existsSync(mark)) ? hostname() : ''
  const hash = createHash('sha256').update(`parley place\n${machine}\n${container}`)
  return `machine:${hash.digest('hex').slice(0, 16)}`
}

/** Creates the file if it is missing. If two programs start at once, both use the file that was created first. */
function storedId(file: string): string {
  const found = read(file)
  if (found) return found
  const temporary = `${file}.${process.pid}.${randomUUID().slice(0, 8)}`
  writeFileSync(temporary, `${randomUUID()}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(temporary, file)
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
  } finally {
    rmSync(temporary, { force: true })
  }
  return readFileSync(file, 'utf8').trim()
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}
