import { commonCapabilities } from '@parley/adapter-kit/program-adapter'
import type { AcpAgent } from './agent.ts'
import { copilot, cursor, goose, kimi } from './untested-presets.ts'

export { copilot, cursor, goose, kimi }

/**
 * The known agents that speak ACP. Each agent needs only an entry here. An entry declares only capabilities that the
 * contract suite has verified. An entry that declares none has the capabilities that the protocol requires of every
 * agent.
 *
 * Where possible, the host enforces our modes: the agent asks for everything, and a rule, the mode or a person answers.
 * Refusals therefore apply in every mode, and the log shows who allowed each call.
 */

/** The agent itself has the mode `plan`. In the other modes it asks for everything, and the host answers. */
const withPlan = {
  ask: 'default',
  'accept-edits': 'default',
  'read-only': 'default',
  plan: 'plan',
  bypass: 'default',
}

export const gemini: AcpAgent = {
  id: 'gemini',
  name: 'Gemini',
  description: 'Gemini CLI by Google, over the Agent Client Protocol.',
  command: 'gemini',
  args: ['--acp'],
  env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
  vendor: ['GEMINI_', 'GOOGLE_', 'CLOUDSDK_'],
  without: ['GEMINI_CLI', 'GEMINI_CLI_IDE_SERVER_PORT', 'GEMINI_CLI_IDE_WORKSPACE_PATH'],
  install: { package: '@google/gemini-cli', version: '0.61.0' },
  signIn: {
    hint: 'Set GEMINI_API_KEY, or sign in once with the program itself: run {program} and choose a sign-in method.',
    command: '{program}',
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI', 'GOOGLE_GENAI_USE_GCA'],
    files: ['.gemini/oauth_creds.json'],
    required: true,
    methods: { GEMINI_API_KEY: 'gemini-api-key', GOOGLE_GENAI_USE_VERTEXAI: 'vertex-ai' },
    chosen: { file: '.gemini/settings.json', holds: '"selectedType"' },
  },
  variables: { reserved: ['GEMINI_CLI*', 'GEMINI_SANDBOX'] },
  trust: {
    trusted: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    untrusted: { GEMINI_CLI_TRUST_WORKSPACE: 'false' },
    forServers: true,
  },
  capabilities: [
    'streaming',
    'thinking',
    'permissions',
    'planApproval',
    'images',
    'files',
    'resume',
    'interrupt',
    'models',
    'modes',
    'mcp',
    'commands',
    'environment',
  ],
  modes: withPlan,
  options: ['directories'],
  directories: '--include-directories',
  // The host performs only `write`: if it also read files, Gemini would treat a missing file as a read error and not
  // create it.
  files: ['write'],
  conversations: { home: 'GEMINI_CLI_HOME', folder: '.gemini/tmp' },
  terminal: ['gemini', '--resume'],
  startsAhead: true,
  dialect: {
    toolName: { callId: ['^(.+)__\\1_\\d+_\\d+$', '^(.+?)__'] },
    kinds: {
      exit_plan_mode: 'plan',
      invoke_agent: 'subagent',
      codebase_investigator: 'subagent',
      cli_help: 'subagent',
      complete_task: 'think',
      update_topic: 'think',
      write_todos: 'think',
      tracker_create_task: 'think',
      tracker_update_task: 'think',
      tracker_get_task: 'think',
      tracker_list_tasks: 'think',
      tracker_add_dependency: 'think',
      tracker_visualize: 'think',
      get_internal_docs: 'read',
      list_mcp_resources: 'read',
      read_mcp_resource: 'read',
    },
    commandInTitle: true,
    inputInContent: true,
    cancelledOutput: '^Command cancelled by user',
    planFile: '^Requesting plan approval for: (.+)$',
    wholeThoughts: true,
    thoughtHead: '^\\*{4}\\n',
    notThePerson: '^(\\[Function Response: |\\s*<session_context>)',
    notTheAgent: '^(\\[(Thought: true|Function Call: [^\\]]*)\\])+$',
    modeInText: '[MODE_UPDATE] ',
    replayAfterLoad: true,
    forgetsOpenCall: true,
    minuteInSessionFile: { home: 'GEMINI_CLI_HOME', folder: '.gemini/tmp' },
  },
}

export const claudeAcp: AcpAgent = {
  id: 'claude-acp',
  name: 'Claude (ACP)',
  description: 'Claude Code through the ACP adapter of the Agent Client Protocol project.',
  command: 'claude-agent-acp',
  vendor: ['ANTHROPIC_', 'CLAUDE_', 'AWS_', 'IS_SANDBOX', 'API_TIMEOUT_MS'],
  without: ['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SSE_PORT', 'CLAUDE_CODE_SESSION_ID'],
  install: { package: '@agentclientprotocol/claude-agent-acp', version: '0.99.0' },
  signIn: {
    hint: 'Set ANTHROPIC_API_KEY, or sign in once with the program itself: {program} --cli auth login',
    command: '{program} --cli auth login',
    variables: [
      'ANTHROPIC_API_KEY',
      'ANTHROPIC_AUTH_TOKEN',
      'CLAUDE_CODE_OAUTH_TOKEN',
      'CLAUDE_CODE_USE_BEDROCK',
      'CLAUDE_CODE_USE_VERTEX',
    ],
    files: ['.claude/.credentials.json'],
  },
  capabilities: [...commonCapabilities, 'planApproval', 'cost'],
  modes: withPlan,
  options: ['effort', 'directories'],
  conversations: 'listed',
  terminal: ['claude', '--resume'],
  dialect: {
    toolName: { meta: ['claudeCode', 'toolName'] },
    parentCall: ['claudeCode', 'parentToolUseId'],
    kinds: {
      Agent: 'subagent',
      Task: 'subagent',
      BashOutput: 'read',
      TaskOutput: 'read',
      LSP: 'read',
      ListMcpResources: 'read',
      ReadMcpResource: 'read',
      ToolSearch: 'search',
      TodoWrite: 'think',
      TaskCreate: 'think',
      TaskUpdate: 'think',
      TaskGet: 'think',
      TaskList: 'think',
    },
    exitCode: '^Exit code (\\d+)\\n?',
    customAnswer: '_custom',
    steering: '_session/steering',
    meta: {
      always: { claudeCode: { options: { promptSuggestions: false, forwardSubagentText: true } } },
      untrusted: { claudeCode: { options: { settingSources: ['user'] } } },
    },
  },
}

/**
 * Codex runs commands in a sandbox in which they can only read, and asks before anything leaves the sandbox or changes
 * a file. In its other modes it does not ask about changes in the folder of the session.
 */
const codexModes = {
  ask: 'read-only',
  'accept-edits': 'read-only',
  'read-only': 'read-only',
  plan: 'read-only',
  bypass: 'read-only',
}

/** Codex does not ask before it types into a running command, so commands get no terminal. */
const codexConfig = {
  features: { default_mode_request_user_input: true, goals: false, unified_exec_tty: false },
  tools: { update_plan: { enabled: true } },
}

export const codexAcp: AcpAgent = {
  id: 'codex-acp',
  name: 'Codex (ACP)',
  description: 'Codex through the ACP adapter of the Agent Client Protocol project.',
  command: 'codex-acp',
  vendor: ['OPENAI_', 'CODEX_'],
  without: ['CODEX_THREAD_ID', 'CODEX_SANDBOX', 'CODEX_SANDBOX_NETWORK_DISABLED'],
  sets: { INITIAL_AGENT_MODE: 'read-only', NO_BROWSER: '1', CODEX_CONFIG: JSON.stringify(codexConfig) },
  install: { package: '@agentclientprotocol/codex-acp', version: '2.6.0' },
  signIn: {
    hint: 'Set OPENAI_API_KEY, or sign in once with the program itself: {program} cli login',
    command: '{program} cli login',
    variables: ['OPENAI_API_KEY', 'CODEX_API_KEY'],
    files: ['.codex/auth.json'],
    required: true,
    methods: { OPENAI_API_KEY: 'api-key', CODEX_API_KEY: 'api-key' },
  },
  variables: { reserved: ['CODEX_*', 'MODEL_PROVIDER', 'DEFAULT_AUTH_REQUEST'], open: ['CODEX_API_KEY'] },
  trust: 'required',
  capabilities: [
    ...commonCapabilities.filter((name) => name !== 'subagents'),
    'toolOutputStreaming',
    'planApproval',
  ],
  modes: codexModes,
  options: ['effort', 'directories'],
  terminal: ['codex', 'resume'],
  dialect: {
    toolName: { callId: ['^(plan-review):'] },
    kinds: { 'plan-review': 'plan' },
    asksWhileRunning: true,
    outputInMeta: { text: ['terminal_output_delta', 'data'], exitCode: ['terminal_exit', 'exit_code'] },
    planOption: { category: 'collaboration_mode', on: 'plan', off: 'default' },
    customAnswer: '_note',
    steering: '_session/steering',
    hidesOpenCall: true,
  },
}

/** OpenCode itself has the mode `plan`. In the other modes it asks for everything but reads, and the host answers. */
const opencodeModes = {
  ask: 'build',
  'accept-edits': 'build',
  'read-only': 'build',
  plan: 'plan',
  bypass: 'build',
}

/**
 * OpenCode's own rules allow everything. With these, it asks before everything that is not a read in the folder. A
 * subagent or a question would wait for ever, because OpenCode does not pass their requests on to its client.
 */
const opencodePermission = {
  '*': 'ask',
  read: { '*': 'allow', '*.env': 'ask', '*.env.*': 'ask', '*.env.example': 'allow' },
  list: 'allow',
  glob: 'allow',
  grep: 'allow',
  lsp: 'allow',
  todowrite: 'allow',
  task: 'deny',
  question: 'deny',
}

export const opencodeAcp: AcpAgent = {
  id: 'opencode-acp',
  name: 'OpenCode (ACP)',
  description: 'OpenCode, over the Agent Client Protocol.',
  command: 'opencode',
  args: ['acp'],
  vendor: ['OPENCODE_', 'ANTHROPIC_', 'OPENAI_', 'GEMINI_', 'GOOGLE_'],
  without: ['OPENCODE_ENABLE_QUESTION_TOOL', 'OPENCODE_CLIENT'],
  sets: { OPENCODE_PERMISSION: JSON.stringify(opencodePermission), OPENCODE_DISABLE_AUTOUPDATE: '1' },
  install: { package: 'opencode-ai', version: '1.18.33' },
  signIn: {
    hint: 'Sign in once with the program itself: {program} auth login',
    command: '{program} auth login',
    files: ['.local/share/opencode/auth.json'],
  },
  variables: { reserved: ['OPENCODE_*'], open: ['OPENCODE_API_KEY'] },
  // It runs plugins in `.opencode` of a folder even if it is told to load no settings of the folder.
  trust: 'required',
  capabilities: [
    'streaming',
    'thinking',
    'toolOutputStreaming',
    'permissions',
    'images',
    'files',
    'resume',
    'fork',
    'interrupt',
    'models',
    'effort',
    'modes',
    'mcp',
    'commands',
    'usage',
    'cost',
    'environment',
  ],
  modes: opencodeModes,
  options: ['effort'],
  terminal: ['opencode', '--session'],
  dialect: { asksWhileRunning: true },
}

export const qwen: AcpAgent = {
  id: 'qwen',
  name: 'Qwen Code',
  description: 'Qwen Code, over the Agent Client Protocol.',
  command: 'qwen',
  args: ['--acp'],
  // A turn that begins before the MCP servers have answered would not have their tools.
  sets: { QWEN_CODE_LEGACY_MCP_BLOCKING: '1' },
  env: { QWEN_CODE_NO_RELAUNCH: 'true' },
  vendor: ['QWEN_', 'DASHSCOPE_', 'OPENAI_'],
  without: [
    'QWEN_CODE_CLI',
    'QWEN_CODE_SESSION_ID',
    'QWEN_CODE_IDE_SERVER_PORT',
    'QWEN_CODE_IDE_WORKSPACE_PATH',
    'QWEN_CODE_SYSTEM_SETTINGS_PATH',
    'QWEN_CODE_TRUSTED_FOLDERS_PATH',
  ],
  install: { package: '@qwen-code/qwen-code', version: '0.24.4' },
  signIn: {
    hint: 'Set OPENAI_API_KEY, or sign in once with the program itself: run {program} and choose a sign-in method.',
    command: '{program}',
    variables: ['OPENAI_API_KEY', 'DASHSCOPE_API_KEY'],
    files: ['.qwen/oauth_creds.json'],
    required: true,
    methods: { OPENAI_API_KEY: 'openai' },
    chosen: { file: '.qwen/settings.json', holds: '"selectedType"' },
  },
  variables: { reserved: ['QWEN_CODE*', 'QWEN_SANDBOX*', 'QWEN_HOME', 'QWEN_RUNTIME_DIR'] },
  trust: {
    untrusted: { QWEN_CODE_TRUSTED_FOLDERS_PATH: '/dev/null/none' },
    settings: {
      variable: 'QWEN_CODE_SYSTEM_SETTINGS_PATH',
      untrusted: { security: { folderTrust: { enabled: true } } },
    },
    forServers: true,
  },
  capabilities: [
    'streaming',
    'thinking',
    'permissions',
    'questions',
    'planApproval',
    'subagents',
    'images',
    'files',
    'resume',
    'interrupt',
    'models',
    'modes',
    'mcp',
    'commands',
    'usage',
    'environment',
  ],
  modes: withPlan,
  conversations: 'listed',
  terminal: ['qwen', '--resume'],
  dialect: {
    toolName: { meta: ['toolName'] },
    parentCall: ['parentToolCallId'],
    kinds: { agent: 'subagent' },
    questionTool: 'ask_user_question',
    ownMethods: {
      'craft/drainMidTurnQueue': 'asks for prompts to put into the turn; refused, because the host has none',
      'craft/claimTodoStopGuardContinuation': 'asks the host to continue a list of steps; refused',
      '_qwencode/start_turn': 'announces a turn of its own, whose messages follow',
      '_qwencode/end_turn': 'ends a turn of its own',
      'qwen/notify/session/mode-update': 'repeats current_mode_update',
      'qwen/notify/session/prompt-suggestion': 'a suggestion for the next prompt',
    },
  },
}

/** All presets, in the order of presentation. */
export const acpAgents: readonly AcpAgent[] = [
  gemini,
  claudeAcp,
  codexAcp,
  opencodeAcp,
  goose,
  qwen,
  kimi,
  copilot,
  cursor,
]
