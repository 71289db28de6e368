import { realpath } from 'node:fs/promises'
import { basename, dirname, relative } from 'node:path'
import type { FileContent, Tree } from '@parley/protocol'
import { readContent } from './file-content.ts'
import type { GitIn } from './git.ts'
import { isInside, openFile } from './inside.ts'
import type { ShadowedFolders } from './shadowed-folders.ts'
import { type ReadStored, readVersion } from './stored-file.ts'
import { readTree } from './tree.ts'
import { isGitPath, listingOf, unlisted } from './unlisted.ts'

/** The folders of a session, its working directory first. */
export type SessionFolders = readonly [string, ...string[]]

export type Asked = {
  readonly path: string
  /** Reads the file from this commit or snapshot. Without it, the present file is read. */
  readonly rev?: string | undefined
  /** Permits files that git does not list: ignored files, git directories, and files in no repository. */
  readonly all: boolean
}

export type FolderContents = {
  tree(folders: SessionFolders, asked: Omit<Asked, 'rev'>): Promise<Tree>
  file(folders: SessionFolders, asked: Asked): Promise<FileContent>
}

/** Reads folders and files of sessions. Runs no program that they name, and reads nothing outside them. */
export function createFolderContents(
  gitIn: GitIn,
  shadows: Pick<ShadowedFolders, 'stored'> | undefined,
): FolderContents {
  const look = (folder: string): ReadStored => gitIn({ path: folder, trusted: false }).look

  /** Throws unless git lists the entry `name` of the folder or, without `name`, the folder itself. */
  async function expectListed(root: string, folder: string, name?: string): Promise<void> {
    const path = name === undefined ? folder : `${folder}/${name}`
    if (isGitPath(path)) throw unlisted('git-directory')
    const [place, entry] =
      name === undefined && folder !== root ? [dirname(folder), basename(folder)] : [folder, name]
    const { isInRepository, ignored } = await listingOf(
      gitIn,
      root,
      place,
      entry === undefined ? [] : [entry],
    )
    if (!isInRepository) throw unlisted('no-repository')
    if (entry !== undefined && ignored.has(entry)) throw unlisted('ignored')
  }

  return {
    async tree(given, { path, all }) {
      const folders = await realFolders(given)
      const { real, entries, cut } = await readTree(folders, path)
      const root = rootOf(folders, real)
      if (!all) await expectListed(root, real)
      const names = entries.map(({ name }) => name)
      const { ignored } = await listingOf(gitIn, root, real, names)
      return {
        path: shownPath(folders, real),
        entries: entries.map((entry) => (ignored.has(entry.name) ? { ...entry, ignored: true } : entry)),
        cut,
      }
    },
    async file(given, { path, rev, all }) {
      if (rev !== undefined) {
        const [folder] = given
        // A snapshot of a folder without a repository contains all its files. Without `all`, the folder must
        // therefore be in a repository.
        if (!all) await expectListed(folder, folder)
        const snapshots =
          shadows &&
          (<Result>(work: (git: ReadStored) => Promise<Result>) =>
            shadows.stored(folder, ({ tryGit }) =>
              work((args, options) => tryGit(args, { ...options, inFolder: true })),
            ))
        return readVersion(look(folder), snapshots, { folder, path, rev })
      }
      const folders = await realFolders(given)
      await using file = await openFile(folders, path)
      const { size } = file.stats
      if (!all) await expectListed(rootOf(folders, file.path), dirname(file.path), basename(file.path))
      const content = await readContent(file.handle, size)
      return { ...content, path: shownPath(folders, file.path), absolutePath: file.path, size }
    },
  }
}

/**
 * Resolves the additional folders of a session. Its working directory is recorded as a real path. A folder that does
 * not exist is kept unchanged.
 */
async function realFolders([cwd, ...others]: SessionFolders): Promise<SessionFolders> {
  return [cwd, ...(await Promise.all(others.map((other) => realpath(other).catch(() => other))))]
}

function rootOf(folders: SessionFolders, path: string): string {
  return folders.find((folder) => isInside(folder, path)) ?? folders[0]
}

function shownPath([cwd]: SessionFolders, path: string): string {
  return isInside(cwd, path) ? relative(cwd, path) : path
}
