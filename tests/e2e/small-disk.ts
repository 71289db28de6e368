import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A data folder on a disk whose space really runs out and can be freed. */
export type SmallDisk = Disposable & {
  readonly dataDir: string
  /** Shell commands that run before the server, in the shell that becomes the server. */
  readonly shell: string
  free(pid: number): void
}

/** A separate file system, used where mounting is permitted. The disk is full (ENOSPC). */
function tmpfsDisk(): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'parley-small-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', folder], { stdio: 'ignore' })
  } catch (error) {
    rmSync(folder, { recursive: true })
    throw error
  }
  const ballast = join(folder, 'ballast')
  writeFileSync(ballast, Buffer.alloc(30 * 1024 * 1024))
  return {
    dataDir: join(folder, 'data'),
    shell: ':',
    free: () => rmSync(ballast),
    [Symbol.dispose]() {
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A folder for a server with a limit on the size of its files (EFBIG), which needs no privileges. */
function limitedDisk(): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'parley-small-disk-'))
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  return {
    dataDir,
    shell: 'ulimit -S -f 1536',
    free: (pid) => void execFileSync('prlimit', ['--pid', String(pid), '--fsize=unlimited:']),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The kinds of small disk that this machine can make. The kind that needs no privileges is always available. */
export function smallDisks(): { kind: string; make: () => SmallDisk }[] {
  const limited = { kind: 'a limit on the size of files', make: limitedDisk }
  try {
    tmpfsDisk()[Symbol.dispose]()
    return [{ kind: 'a full file system', make: tmpfsDisk }, limited]
  } catch {
    return [limited]
  }
}
