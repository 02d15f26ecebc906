// Designs that others published for five of the requirements, in our words. Where a design says nothing of a pattern, the
// plan does what its containers allow.
import type { Data, Doc } from './data.ts';
import type { Place, Plan, Put, Step } from './measure.ts';

export interface Published {
  /** The name of the requirements. */
  readonly of: string;
  readonly title: string;
  readonly address: string;
  readonly containers: string;
  plan(partitions: (name: string) => number): Plan;
}

interface Home {
  readonly place: string;
  /** What a document has besides its own fields. */
  shape?(doc: Doc, data: Data): Record<string, unknown>;
}

type Steps = Readonly<Record<string, (doc: Doc, data: Data) => readonly Step[]>>;

interface Design {
  readonly places: readonly Place[];
  readonly homes: Readonly<Record<string, Home>>;
  /** Copies that the change feed or the application writes: entity → where, and how. */
  readonly copies?: Readonly<Record<string, Home>>;
  /** By the text of the access. */
  readonly steps: Steps;
  /** The number of each access, in the order of the requirements. */
  readonly order: readonly (readonly [step: string, entity: string])[];
}

const planFrom = ({ places, homes, copies = {}, steps, order }: Design): Plan => {
  const at = (home: Home, doc: Doc, data: Data): Put => ({
    place: home.place,
    doc: { ...doc, ...home.shape?.(doc, data) },
  });
  const entityOf = (id: string): string => order[Number(id) - 1]?.[1] ?? '';
  const written = (id: string): boolean => /^(create|update|delete)/.test(order[Number(id) - 1]?.[0] ?? '');
  return {
    places,
    stored: (data) =>
      [homes, copies].flatMap((group) =>
        Object.entries(group).flatMap(([name, home]) => (data.get(name) ?? []).map((doc) => at(home, doc, data))),
      ),
    steps: (id, doc, data) => {
      const [name = ''] = order[Number(id) - 1] ?? [];
      const own = steps[name];
      if (own) return own(doc, data);
      const home = homes[entityOf(id)];
      if (!home) throw new Error(`${name} has no steps`);
      const put = at(home, doc, data);
      if (name.startsWith('create')) return [{ kind: 'create', ...put }];
      if (name.startsWith('update')) return [{ kind: 'replace', ...put }];
      return [{ kind: 'point-read', ...put }];
    },
    derived: (id, doc, data) => {
      const copy = copies[entityOf(id)];
      return copy && written(id) ? [{ kind: 'upsert', ...at(copy, doc, data) }] : [];
    },
  };
};

const query = (place: string, text: string, doc: Doc): Step => ({
  kind: 'query',
  place,
  text: `SELECT * FROM c WHERE ${text}`,
  values: Object.fromEntries([...text.matchAll(/@(\w+)/g)].map(([, name = '']) => [name, doc[name]])),
});

const typed =
  (type: string, ids: Readonly<Record<string, string>> = {}) =>
  (doc: Doc): Record<string, unknown> => ({
    type,
    ...Object.fromEntries(Object.entries(ids).map(([field, from]) => [field, doc[from]])),
  });

export const PUBLISHED: readonly Published[] = [
  {
    of: 'blog',
    title: 'Microsoft: a blogging platform',
    address: 'https://docs.azure.cn/en-us/cosmos-db/nosql/model-partition-example',
    containers:
      'users by /userId, with a copy of each user’s posts; posts by /postId, with comments and likes. Its counters, user names in copies and front page are left out, because the requirements don’t ask for them.',
    plan: (partitions) =>
      planFrom({
        places: [
          { name: 'users', paths: ['/userId'], partitions: partitions('users') },
          { name: 'posts', paths: ['/postId'], partitions: partitions('posts') },
        ],
        homes: {
          User: { place: 'users', shape: typed('user', { userId: 'id' }) },
          Post: { place: 'posts', shape: typed('post', { postId: 'id' }) },
          Comment: { place: 'posts', shape: typed('comment') },
          Like: { place: 'posts', shape: typed('like') },
        },
        copies: { Post: { place: 'users', shape: typed('post', { postId: 'id' }) } },
        order: [
          ['create', 'User'],
          ['read', 'User'],
          ['create', 'Post'],
          ['read', 'Post'],
          ['posts of a user', 'Post'],
          ['create', 'Comment'],
          ['comments of a post', 'Comment'],
          ['create', 'Like'],
          ['likes of a post', 'Like'],
        ],
        steps: {
          'posts of a user': (doc) => [
            query('users', `c.userId = @userId AND c.type = 'post' ORDER BY c.createdAt DESC OFFSET 0 LIMIT 20`, doc),
          ],
          'comments of a post': (doc) => [
            query(
              'posts',
              `c.postId = @postId AND c.type = 'comment' ORDER BY c.createdAt DESC OFFSET 0 LIMIT 20`,
              doc,
            ),
          ],
          'likes of a post': (doc) => [query('posts', `c.postId = @postId AND c.type = 'like' OFFSET 0 LIMIT 20`, doc)],
        },
      }),
  },
  {
    of: 'orders',
    title: 'CosmicWorks, database-v4: customers and orders',
    address: 'https://github.com/AzureCosmosDB/CosmicWorks/blob/main/src/Deployment.cs',
    containers: 'customer by /customerId, with customers and their orders; the lines are elements of the order.',
    plan: (partitions) =>
      planFrom({
        places: [{ name: 'customer', paths: ['/customerId'], partitions: partitions('customer') }],
        homes: {
          Customer: { place: 'customer', shape: typed('customer', { customerId: 'id' }) },
          Order: {
            place: 'customer',
            shape: (doc, data) => ({
              type: 'salesOrder',
              details: (data.get('Line') ?? []).filter(({ orderId }) => orderId === doc.id),
            }),
          },
        },
        order: [
          ['read', 'Customer'],
          ['read', 'Order'],
          ['orders of a customer', 'Order'],
          ['create', 'Order'],
          ['update', 'Order'],
          ['create', 'Customer'],
        ],
        steps: {
          'orders of a customer': (doc) => [
            query(
              'customer',
              `c.customerId = @customerId AND c.type = 'salesOrder' ORDER BY c.placedAt DESC OFFSET 0 LIMIT 10`,
              doc,
            ),
          ],
        },
      }),
  },
  {
    of: 'catalogue',
    title: 'CosmicWorks, database-v4: products',
    address: 'https://github.com/AzureCosmosDB/CosmicWorks/blob/main/src/Deployment.cs',
    containers: 'product by /categoryId. It has no reviews; here they are in a container by /productId.',
    plan: (partitions) =>
      planFrom({
        places: [
          { name: 'product', paths: ['/categoryId'], partitions: partitions('product') },
          { name: 'review', paths: ['/productId'], partitions: partitions('review') },
        ],
        homes: {
          Product: { place: 'product', shape: typed('product') },
          Review: { place: 'review', shape: typed('review') },
        },
        order: [
          ['product by id', 'Product'],
          ['products of a category', 'Product'],
          ['reviews of a product', 'Review'],
          ['create', 'Review'],
          ['update', 'Product'],
        ],
        steps: {
          'product by id': (doc) => [query('product', 'c.id = @id', doc)],
          'products of a category': (doc) => [query('product', 'c.categoryId = @categoryId OFFSET 0 LIMIT 30', doc)],
          'reviews of a product': (doc) => [
            query('review', 'c.productId = @productId ORDER BY c.at DESC OFFSET 0 LIMIT 20', doc),
          ],
        },
      }),
  },
  {
    of: 'leaderboard',
    title: 'cosmosdb-agent-kit: gaming leaderboard, third iteration',
    address:
      'https://github.com/AzureCosmosDB/cosmosdb-agent-kit/blob/main/testing-v2/scenarios/gaming-leaderboard/iterations/iteration-003-python/cosmos_db.py',
    containers:
      'players by /id, scores by /playerId, leaderboards by a key made for each board (here: of a game), which the application writes with each score.',
    plan: (partitions) =>
      planFrom({
        places: [
          { name: 'players', paths: ['/id'], partitions: partitions('players'), indexed: ['/region/?', '/name/?'] },
          { name: 'scores', paths: ['/playerId'], partitions: partitions('scores'), indexed: ['/playerId/?', '/at/?'] },
          {
            name: 'leaderboards',
            paths: ['/leaderboardKey'],
            partitions: partitions('leaderboards'),
            indexed: ['/leaderboardKey/?', '/points/?', '/playerId/?'],
          },
        ],
        homes: {
          Player: { place: 'players', shape: typed('player') },
          Score: { place: 'scores', shape: typed('score') },
        },
        copies: { Score: { place: 'leaderboards', shape: typed('entry', { leaderboardKey: 'gameId' }) } },
        order: [
          ['read', 'Player'],
          ['best scores of a game', 'Score'],
          ['scores of a player', 'Score'],
          ['create', 'Score'],
          ['update', 'Player'],
        ],
        steps: {
          'best scores of a game': (doc) => [
            query('leaderboards', 'c.leaderboardKey = @gameId ORDER BY c.points DESC OFFSET 0 LIMIT 100', doc),
          ],
          'scores of a player': (doc) => [
            query('scores', 'c.playerId = @playerId ORDER BY c.at DESC OFFSET 0 LIMIT 20', doc),
          ],
        },
      }),
  },
  {
    of: 'chat',
    title: 'aiproxy: the history of a chat',
    address: 'https://github.com/demo-ninjas/aiproxy/blob/main/src/aiproxy/history/cosmos_history_provider.py',
    containers: 'one document by /id for each thread, with all messages; a new message reads and upserts the whole.',
    plan: (partitions) =>
      planFrom({
        places: [{ name: 'threads', paths: ['/id'], partitions: partitions('threads') }],
        homes: { Conversation: { place: 'threads', shape: history } },
        order: [
          ['read', 'Conversation'],
          ['messages of a thread', 'Message'],
          ['new message', 'Message'],
          ['create', 'Conversation'],
          ['update', 'Conversation'],
        ],
        steps: {
          'messages of a thread': (doc, data) => [{ kind: 'point-read', ...threadOf(doc, data) }],
          'new message': (doc, data) => [
            { kind: 'point-read', ...threadOf(doc, data) },
            { kind: 'upsert', ...threadOf(doc, data) },
          ],
        },
      }),
  },
];

const history = (doc: Doc, data: Data): Record<string, unknown> => ({
  history: (data.get('Message') ?? []).filter(({ conversationId }) => conversationId === doc.id),
});

function threadOf({ conversationId }: Doc, data: Data): Put {
  const doc = data.get('Conversation')?.find(({ id }) => id === conversationId);
  if (!doc) throw new Error(`there is no ${String(conversationId)}`);
  return { place: 'threads', doc: { ...doc, ...history(doc, data) } };
}
