import type { CompletedCommand, ValueKind } from './command-tree.ts'

/**
 * The scripts for bash and zsh. They contain the whole command tree. They start the program only to complete
 * sessions and agents, which the program requests from the running server. The output of the program is never
 * evaluated.
 */

export function bashScript(all: readonly CompletedCommand[]): string {
  return `# parley completions bash >> ~/.bashrc
_parley() {
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}") current="\${COMP_WORDS[COMP_CWORD]}" program="\${COMP_WORDS[0]}"
${place(all)}
  COMPREPLY=()
  local line
  case "$kind" in
    session|agent)
      while IFS= read -r line; do
        line="\${line%%$'\\t'*}"
        [[ "$line" == "$current"* ]] && COMPREPLY+=("$line")
      done < <("$program" completions --values "$kind" "\${folder[@]}" 2>/dev/null) ;;
    folder) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$current")) ;;
    file) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
  COMPREPLY+=($(compgen -W "$candidates" -- "$current"))
}
complete -F _parley parley
`
}

export function zshScript(all: readonly CompletedCommand[]): string {
  return `#compdef parley
# parley completions zsh > "\${fpath[1]}/_parley", or: source <(parley completions zsh)
_parley() {
  local -a before=("\${(@)words[2,CURRENT-1]}")
  local current="\${words[CURRENT]}" program="\${words[1]}"
  _parley_words
}
_parley_words() {
${place(all)}
  local -a lines shown
  case "$kind" in
    session|agent)
      lines=("\${(@f)$("$program" completions --values "$kind" "\${folder[@]}" 2>/dev/null)}")
      shown=("\${(@)lines//$'\\t'/  }")
      compadd -l -d shown -- "\${(@)lines%%$'\\t'*}" ;;
    folder) _files -/ ;;
    file) _files ;;
  esac
  compadd -- \${=candidates}
}
if [[ "\${funcstack[1]}" == _parley ]]; then _parley "$@"; else compdef _parley parley; fi
`
}

/**
 * Finds the place of the cursor: \`at\` is the command, \`count\` the number of its arguments so far, and \`pending\` the
 * option whose value is next. Sets \`kind\` and \`candidates\`. No variable is named \`path\`, because zsh ties it to PATH.
 */
function place(all: readonly CompletedCommand[]): string {
  return `  local at='' word='' pending='' kind='' candidates='' count=0
  local folder=()
  for word in "\${before[@]}"; do
    if [[ -n "$pending" ]]; then
      [[ "$pending" == --data-dir ]] && folder=(--data-dir "$word")
      pending=''
      continue
    fi
    case "$at $word" in
${caseLines(
  all
    .filter(({ path }) => path !== '')
    .map(({ path }) => [`${parentOf(path)} ${nameOf(path)}`, `at='${path}'; count=0`]),
)}
${caseLines(all.map(({ path, options }) => [options.filter(({ value }) => value).map(({ name }) => `${path} ${name}`), 'pending="$word"']))}
      *' -'*) ;;
      *) count=$((count + 1)) ;;
    esac
  done
  if [[ -n "$pending" ]]; then
    case "$at $pending" in
${caseLines(
  all.flatMap(({ path, options }) =>
    options.flatMap(({ name, value }) =>
      value && value !== 'none' ? [[`${path} ${name}`, setting(value)] as const] : [],
    ),
  ),
)}
    esac
  elif [[ "$current" == -* ]]; then
    case "$at" in
${caseLines(all.map(({ path, options }) => [path, `candidates='${options.map(({ name }) => name).join(' ')}'`]))}
    esac
  else
    case "$at $count" in
${caseLines(all.flatMap(positionCases))}
    esac
  fi`
}

/** The words that can follow a command: its subcommands, and the values of its arguments by position. */
function positionCases({ path, subcommands, positions, isVariadic }: CompletedCommand) {
  const first =
    subcommands.length > 0 ? [[`${path} 0`, `candidates='${subcommands.join(' ')}'`] as const] : []
  const cases = positions.flatMap((kind, index) => {
    const isLast = isVariadic && index === positions.length - 1
    return kind === 'none' ? [] : [[`${path} ${isLast ? '' : index}`, setting(kind), isLast] as const]
  })
  return [...first, ...cases.map(([pattern, text, isLast]) => [pattern, text, isLast] as const)]
}

function setting(kind: ValueKind): string {
  return typeof kind === 'object' ? `candidates='${kind.words.join(' ')}'` : `kind=${kind}`
}

type Case = readonly [pattern: string | readonly string[], text: string, isPrefix?: boolean]

function caseLines(cases: readonly Case[]): string {
  return cases
    .filter(([pattern]) => pattern.length > 0)
    .map(([pattern, text, isPrefix]) => {
      const patterns = [pattern].flat().map((one) => `'${one}'${isPrefix ? '*' : ''}`)
      return `      ${patterns.join('|')}) ${text} ;;`
    })
    .join('\n')
}

const parentOf = (path: string) => path.split(' ').slice(0, -1).join(' ')
const nameOf = (path: string) => path.split(' ').at(-1) ?? ''
