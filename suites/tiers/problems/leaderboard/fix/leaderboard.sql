WITH sums AS (
    SELECT players.name AS player, SUM(games.points) AS points, COUNT(*) AS games
    FROM games
    JOIN players ON players.id = games.player
    WHERE games.season = :season AND games.annulled = 0
    GROUP BY players.id
),
ranked AS (
    SELECT RANK() OVER (ORDER BY points DESC, games) AS place, player, points, games FROM sums
)
SELECT place, player, points, games FROM ranked WHERE place <= :most ORDER BY place, player;
