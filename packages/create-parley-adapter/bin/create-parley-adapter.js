#!/usr/bin/env node
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const help = `Usage: npm create parley-adapter [folder]

Makes a folder with an adapter for Parley: a small agent, its adapter, and a contract test that passes. The name of the
folder becomes the id of the agent (default: my-agent). A folder that exists is never changed.

Options:
  -h, --help     show this text
  --version      show the version
`

const root = fileURLToPath(new URL('..', import.meta.url))
const template = join(root, 'template')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** A mistake of the person who runs the program. */
class Mistake extends Error {}

try {
  process.stdout.write(run(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof Mistake)) throw error
  process.stderr.write(`create-parley-adapter: ${error.message}\n`)
  process.exitCode = 2
}

/** @param {readonly string[]} args */
function run(args) {
  if (args.includes('--help') || args.includes('-h')) return help
  if (args.includes('--version')) return `${version}\n`
  const unknown = args.find((arg) => arg.startsWith('-'))
  if (unknown !== undefined) throw new Mistake(`Unknown option ${unknown}. See --help.`)
  if (args.length > 1) throw new Mistake('Give one folder. See --help.')
  const folder = resolve(args[0] ?? 'my-agent')
  const id = idOf(folder)
  makeFolder(folder)
  try {
    copy(template, folder, id)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  return nextSteps(folder, id)
}

/** @param {string} folder */
function idOf(folder) {
  const name = basename(folder)
  const id = name.replace(/^parley-adapter-/, '')
  if (/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(id) && id.length <= 50) return id
  throw new Mistake(
    `"${name}" cannot be the id of an agent. Use up to 50 lower-case letters, digits and dashes, and begin with a letter.`,
  )
}

/**
 * Makes the folder. The call fails if the folder exists, so nothing in an existing folder is changed.
 * @param {string} folder
 */
function makeFolder(folder) {
  try {
    mkdirSync(dirname(folder), { recursive: true })
    mkdirSync(folder, { mode: 0o755 })
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    if (existsSync(folder))
      throw new Mistake(`${folder} exists already, and is not changed. Give another folder.`)
    throw new Mistake(`${folder} cannot be made (${code}). Give another folder.`)
  }
}

/**
 * Nobody else may write to the files: Parley loads no adapter that other users can change.
 * @param {string} from
 * @param {string} to
 * @param {string} id
 */
function copy(from, to, id) {
  for (const name of readdirSync(from)) {
    // npm leaves a file with the name .gitignore out of a package.
    const path = join(to, name === 'gitignore' ? '.gitignore' : name)
    writeFileSync(path, named(readFileSync(join(from, name), 'utf8'), id), { mode: 0o644, flag: 'wx' })
  }
}

/**
 * The text of the template with the name of the agent.
 * @param {string} text
 * @param {string} id
 */
function named(text, id) {
  const words = id.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return text
    .replaceAll('my-agent', id)
    .replaceAll('My Agent', words.join(' '))
    .replaceAll('MY_AGENT', id.replaceAll('-', '_').toUpperCase())
}

/**
 * @param {string} folder
 * @param {string} id
 */
function nextSteps(folder, id) {
  return `Made ${folder}. Next:

  cd ${relative('', folder)}
  npm install
  npm test

To run it under Parley, name the folder in ~/.parley/config.json, and start the server again:

  { "adapters": [${JSON.stringify(folder)}] }

Then: parley agents doctor ${id}
`
}
